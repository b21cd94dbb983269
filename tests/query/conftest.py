"""What the tests of the query language share: a moment, a reader of queries, makers of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.query.parser import parse
from agents.query.record import StepRecord, TurnRecord
from agents.query.tree import Level, Query

NOON = 1_795_176_000_000_000
"""2026-11-20 12:00 UTC, a Friday, in microseconds."""


@pytest.fixture(scope="session")
def noon() -> int:
    return NOON


@pytest.fixture(scope="session")
def read() -> Callable[..., Query]:
    """Parses a text at noon."""

    def read(text: str, *, zone: str = "UTC", level: Level = "turn") -> Query:
        return parse(text, now_us=NOON, zone=zone, level=level)

    return read


@pytest.fixture(scope="session")
def turn() -> Callable[..., TurnRecord]:
    """A turn that completed at noon, changed as asked."""

    def make(*steps: StepRecord, **changes: Any) -> TurnRecord:
        given = {"id": "t1", "status": "completed", "session_id": "s1", "started_us": NOON, **changes}
        return TurnRecord(steps=steps, **given)

    return make


@pytest.fixture(scope="session")
def step() -> Callable[..., StepRecord]:
    """A completed inference, changed as asked."""

    def make(**changes: Any) -> StepRecord:
        return StepRecord(**{"id": "p1", "status": "completed", "type": "inference", **changes})

    return make
