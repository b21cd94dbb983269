"""Traces of which no turn was made: found for a while, then forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.store.external import unmatched
from tests.conftest import Clock
from tests.support.pages.external_turns import tell
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db
DAY_US = 86_400_000_000


def plain(trace: int, *names: str) -> list[Any]:
    """Spans of a program that has no agent."""
    return [reports.span(trace, trace * 100 + number, name) for number, name in enumerate(names, 1)]


def names(actor: Actor) -> list[str]:
    return [trace.name for trace in unmatched.listing(actor)]


def test_a_trace_without_an_agent_is_listed(admin: Actor, clock: Clock) -> None:
    tell(admin, *plain(1, "GET /health", "SELECT"), **{"service.name": "shop"})
    tell(admin, *reports.turn(2))
    [found] = unmatched.listing(admin)
    assert (found.name, found.service, found.span_count) == (f"{1:032x}", "shop", 2)
    assert (found.span_names, found.received_at) == (("GET /health", "SELECT"), ids.now_us())
    assert unmatched.count(admin) == 1
    assert [span.name for span in unmatched.spans(admin, found.public_id)] == ["GET /health", "SELECT"]


def test_it_becomes_a_turn_when_more_of_it_comes(admin: Actor) -> None:
    tell(admin, *plain(1, "GET /ask"))
    [found] = unmatched.listing(admin)
    tell(admin, *reports.turn(1))
    assert names(admin) == []
    with pytest.raises(NotFound):
        unmatched.spans(admin, found.public_id)


def test_the_newest_come_first_and_no_more_than_asked_for(admin: Actor, clock: Clock) -> None:
    for trace in (1, 2, 3):
        tell(admin, *plain(trace, "GET /"))
        clock.pass_s(1)
    assert [found.name[-1] for found in unmatched.listing(admin, 2)] == ["3", "2"]
    assert unmatched.count(admin, 2) == 2


def test_they_are_their_owners(admin: Actor, make_user: Callable[..., Actor]) -> None:
    mine, other = make_user("mine"), make_user("other")
    tell(mine, *plain(1, "GET /"))
    [found] = unmatched.listing(mine)
    assert names(other) == []
    assert names(admin) == [found.name]
    for wrong in (found.public_id, "nothing", ids.public(ids.Kind.TURN, found.key)):
        with pytest.raises(NotFound):
            unmatched.spans(other, wrong)


def test_they_are_forgotten_when_nothing_more_comes(admin: Actor, clock: Clock) -> None:
    tell(admin, *plain(1, "GET /"))
    tell(admin, *reports.turn(2))
    clock.pass_s(86_400)
    tell(admin, *plain(3, "GET /"))
    assert unmatched.expire(ids.now_us() - 2 * DAY_US) == 0
    clock.pass_s(1)
    assert unmatched.expire(ids.now_us() - DAY_US) == 1
    assert [name[-1] for name in names(admin)] == ["3"]
    assert (Trace.objects.unscoped("test").count(), SpanBatch.objects.count()) == (2, 2)
