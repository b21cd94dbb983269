"""SQLite's planner is told what the tables hold: at the start, when they have grown, and now and then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import scopes, statistics
from agents.base.store.statistics import PlannerStatistics
from agents.base.timestamps import to_datetime
from agents.logs.store import listing
from agents.logs.store.query import condition
from agents.query import parser
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from tests.conftest import Clock

pytestmark = pytest.mark.django_db
sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL looks by itself")
SESSIONS, TURNS = 60, 10


def filled(actor: Actor) -> None:
    """Sessions with some turns each, all of one status."""
    now, scope = to_datetime(ids.now_us()), scopes.scope_for(actor)
    keys = [ids.new_key() for _ in range(SESSIONS)]
    moments = {"created_at": now, "updated_at": now}
    Session.objects.bulk_create(Session(pk=key, owner_id=actor.user_id, scope_id=scope, **moments) for key in keys)
    Turn.objects.bulk_create(
        Turn(
            session_id=key,
            number=number,
            owner_id=actor.user_id,
            scope_id=scope,
            status=TurnStatus.COMPLETED,
            started_at=now,
        )
        for key in keys
        for number in range(TURNS)
    )


def plan(actor: Actor, text: str = "turn(status:completed)") -> str:
    query = parser.parse(text, now_us=ids.now_us(), level="session")
    return str(listing.visible("session", actor).filter(condition(query, actor)).explain())


@pytest.fixture
def clock() -> Clock:
    return Clock(0)


@pytest.fixture
def looked(clock: Clock) -> PlannerStatistics:
    """The process has looked once."""
    made = PlannerStatistics(lambda: clock.now_us / 1_000_000)
    assert made.renew()
    return made


@contextmanager
def read_only() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only=ON").fetchall()
        try:
            yield
        finally:
            cursor.execute("PRAGMA query_only=OFF").fetchall()


@sqlite
def test_turns_of_a_session_are_not_looked_for_among_all_of_a_status(admin: Actor) -> None:
    filled(admin)
    assert "turn_status" in plan(admin)
    assert PlannerStatistics().renew()
    assert "turn_status" not in plan(admin)
    assert "session_id=?" in plan(admin)


@sqlite
def test_it_is_looked_at_again_after_some_hours(looked: PlannerStatistics, clock: Clock) -> None:
    clock.pass_s(statistics.MAX_AGE_S - 1)
    assert not looked.renew()
    clock.pass_s(1)
    assert looked.renew()
    assert not looked.renew()


@sqlite
def test_and_when_the_store_has_grown(admin: Actor, looked: PlannerStatistics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "GROWTH_FACTOR", 1.01)
    assert not looked.renew()
    filled(admin)
    assert looked.renew()
    assert "turn_status" not in plan(admin)


@sqlite
def test_a_file_that_may_only_be_read_is_left_alone_and_tried_again() -> None:
    tried = PlannerStatistics()
    with read_only():
        assert not tried.renew()
    assert tried.renew()


@pytest.mark.skipif("connection.vendor == 'sqlite'", reason="SQLite does not look by itself")
def test_a_database_that_looks_by_itself_is_asked_nothing(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert not PlannerStatistics().renew()
