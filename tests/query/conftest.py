"""What the tests of the query language share: a moment, a reader of queries, makers of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.query.parser import parse
from agents.query.tree import Level, Query
from tests.query.records import AgentRecord, Row, SessionRecord, StepRecord, TurnRecord

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
def turn() -> Callable[..., Row]:
    """A turn that completed at noon, in a session of an agent, changed as asked."""

    def make(*steps: StepRecord, agent: str = "", agent_id: str = "a1", session: str = "", **changes: Any) -> Row:
        given = {"id": "t1", "status": "completed", "started_us": NOON, **changes}
        made = TurnRecord(steps=steps, **given)
        return Row(
            agent=AgentRecord(id=agent_id, name=agent) if agent else None,
            session=SessionRecord(id="s1", name=session, turns=(made,)),
            turn=made,
        )

    return make


@pytest.fixture(scope="session")
def step() -> Callable[..., StepRecord]:
    """A completed inference, changed as asked."""

    def make(**changes: Any) -> StepRecord:
        return StepRecord(**{"id": "p1", "status": "completed", "type": "inference", **changes})

    return make
