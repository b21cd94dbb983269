"""The guide to the query language: what it shows can be read, and it leaves no field out."""

from __future__ import annotations

import re
from collections.abc import Callable

from agents.query.tree import Query
from tests import guide

GUIDE = guide.PATH.read_text()


def test_every_field_has_its_row() -> None:
    """``make docs`` writes the table."""
    assert guide.table() in GUIDE


def test_its_examples_can_be_read(read: Callable[..., Query]) -> None:
    [examples] = re.findall(r"```\n(refund order.*?)```", GUIDE, re.DOTALL)
    for line in examples.splitlines():
        assert read(re.split(r"\s{4,}", line)[0]).text
