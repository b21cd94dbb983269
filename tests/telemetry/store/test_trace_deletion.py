"""What was reported is gone with the turns that were made of it, and never comes back by itself."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import bulk
from agents.record.models.agents import Session
from agents.record.models.turns import Turn
from agents.record.store import sessions
from agents.telemetry.models.traces import SpanBatch, Trace, TraceLink
from agents.telemetry.store.external.projector import projector
from tests.conftest import Clock
from tests.support.pages.external_turns import tell
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def kept() -> tuple[int, int, int]:
    """How many traces, batches and links."""
    return Trace.objects.unscoped("test").count(), SpanBatch.objects.count(), TraceLink.objects.count()


def found(model: Any) -> list[int]:
    return list(model.objects.unscoped("test").order_by("pk").values_list("pk", flat=True))


def bare(trace: int, *asked: str, at: float = 0.0) -> Any:
    """A model call that is a trace of its own."""
    return reports.span(
        trace,
        trace,
        "chat gpt-4o",
        at=at,
        gen_ai__operation__name="chat",
        gen_ai__conversation__id="talk",
        gen_ai__input__messages=reports.text("user", *asked),
        gen_ai__output__messages=reports.text("assistant", f"answer {trace}"),
    )


def test_a_deleted_session_leaves_no_report(me: Actor) -> None:
    tell(me, *reports.turn(1))
    tell(me, *reports.turn(2, gen_ai__conversation__id="another", at=10.0))
    first, _ = found(Session)
    sessions.delete(me, first)
    assert kept() == (1, 1, 0)
    projector.wake()
    assert len(found(Turn)) == 1


def test_neither_do_calls_that_found_each_other(me: Actor) -> None:
    tell(me, bare(1, "one?"))
    tell(me, bare(2, "two?", at=5.0))
    assert kept()[0] == 2
    bulk.delete(me, "session", found(Session))
    assert (kept(), found(Turn)) == ((0, 0, 0), [])


def test_a_trace_stays_as_long_as_one_of_its_turns(me: Actor) -> None:
    def root(number: int) -> Any:
        return reports.span(
            1,
            number,
            "invoke_agent",
            at=number * 10.0,
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name="a",
            gen_ai__input__messages=reports.text("user", f"question {number}"),
        )

    tell(me, root(1), root(2))
    first, second = found(Turn)
    assert bulk.delete(me, "turn", [first]).done == 1
    assert kept()[0] == 1
    assert bulk.delete(me, "turn", [second]).done == 1
    assert kept() == (0, 0, 0)


def test_what_ends_by_itself_leaves_nothing_either(me: Actor, clock: Clock) -> None:
    tell(me, *reports.turn(1))
    Session.objects.unscoped("test").update(expires_at=ids.now_us())
    clock.pass_s(1)
    assert sessions.expire(ids.now_us()) == 1
    assert kept() == (0, 0, 0)


def test_a_turn_that_becomes_another_keeps_its_report(me: Actor) -> None:
    tell(me, bare(1, "one?"))
    tell(me, bare(2, "one?", "two?", at=5.0))
    assert kept()[:2] == (2, 2)
    assert found(Turn)
