"""The tests that take longer than `LIMIT_S` each, without the servers that they share with others. They are no part of
``make test``, the loop while one works, but of ``make check``, on both databases.

``lengthy.txt`` names them, a test function a line. ``python -m tests.lengthy report.xml`` writes it anew from a report
of pytest (``--junitxml report.xml -o junit_duration_report=call``) of a machine with nothing else to do; a test that
the report does not have stays as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import ROOT

LIST = Path(__file__).with_suffix(".txt")
LIMIT_S = 0.4
OF_THE_LOOP = (
    "tests/docs/test_reference.py",
    "tests/llama_stack/live/test_client.py",
    "tests/test_architecture.py",
    "tests/test_messages.py",
)
"""Tests that belong to the loop however long they take: the first client, and the rules that one breaks by writing."""


def names() -> set[str]:
    """Return the functions of the list, each as ``path::name``."""
    return set(LIST.read_text().split())


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the list among these."""
    lengthy = names()
    for item in items:
        if item.nodeid.partition("[")[0] in lengthy:
            item.add_marker(pytest.mark.lengthy)


def measured(report: Path) -> dict[str, float]:
    """Return what the slowest case of each test function of a report took, in seconds."""
    seconds: dict[str, float] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        path = f"{case.get('classname', '').replace('.', '/')}.py"
        name = f"{path}::{case.get('name', '').partition('[')[0]}"
        if (ROOT / path).exists():
            seconds[name] = max(seconds.get(name, 0.0), float(case.get("time", 0)))
    return seconds


def main(report: str) -> None:
    seconds = measured(Path(report))
    chosen = {name for name, taken in seconds.items() if taken > LIMIT_S}
    chosen |= names() - seconds.keys() if LIST.exists() else set()
    chosen = {name for name in chosen if not name.startswith(OF_THE_LOOP)}
    LIST.write_text("".join(f"{name}\n" for name in sorted(chosen)))


if __name__ == "__main__":
    main(sys.argv[1])
