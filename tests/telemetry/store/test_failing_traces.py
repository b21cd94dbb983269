"""A trace that cannot be stored, or cannot be read any more, is left out, and all others are stored."""

from __future__ import annotations

import logging
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import DataError, connection

from agents.base.access import Actor
from agents.base.store import keys
from agents.logs.store import numbers
from agents.query.parser import parse
from agents.record.models.turns import Turn
from agents.record.schemas.content import MAX_TOKENS
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading import stored_spans, trace_worker
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import due_traces, inbox, projection, trace_deletion
from agents.telemetry.store.external import reader_process as readers
from agents.telemetry.store.external.projector import projector
from tests.support.live.process import eventually
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def keep(actor: Actor, *spans: Any) -> None:
    inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)


def name(trace: int) -> str:
    return f"{trace:032x}"


def refusing(trace: int) -> Callable[..., Any]:
    """A database that cannot hold what is made of a trace."""
    [key] = Trace.objects.unscoped("test").filter(foreign_id=name(trace)).values_list("pk", flat=True)

    def run(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if (
            many
            and sql.startswith("UPDATE agents_trace SET projected = %s, turn")
            and any(row[-1] == key for row in params)
        ):
            raise DataError("out of range")
        return execute(sql, params, many, context)

    return run


def spend(actor: Actor, tokens: object, dollars: object) -> Turn:
    """The turn of three calls that tell of so much."""
    used = {
        "gen_ai__usage__input_tokens": tokens,
        "gen_ai__usage__output_tokens": tokens,
        "gen_ai__usage__cost": dollars,
    }
    chat: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "m",
        **used,
        "gen_ai__usage__cost": dollars,
    }
    root: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "eater"}
    calls = [reports.span(1, number, "chat m", parent=1, at=0.1 * number, **chat) for number in (2, 3, 4)]
    keep(actor, *calls, reports.span(1, 1, "invoke_agent eater", **root))
    projector.wake()
    turn: Turn = Turn.objects.unscoped("test").get()
    return turn


def spoil(trace: int) -> None:
    """As if the disk had lost what it holds of a trace."""
    SpanBatch.objects.filter(trace__foreign_id=name(trace)).update(encoding=1, body=b"no longer readable")


def turns() -> list[str | None]:
    return list(Turn.objects.unscoped("test").order_by("foreign_id").values_list("foreign_id", flat=True))


def waiting() -> list[int]:
    return due_traces.next_pass()


def test_one_that_cannot_be_stored_holds_up_no_other(me: Actor, caplog: pytest.LogCaptureFixture) -> None:
    keep(me, *reports.turn(1), *reports.turn(2), *reports.turn(3))
    with connection.execute_wrapper(refusing(2)):
        projector.wake()
    assert turns() == [name(1), name(3)]
    assert waiting() == []
    assert [record.levelno for record in caplog.records if name(2) in record.getMessage()] == [logging.ERROR]


def test_no_call_spends_more_than_can_be_summed(me: Actor) -> None:
    turn = spend(me, 2**63 - 1, "9e9")
    assert (turn.input_tokens, turn.output_tokens) == (3 * MAX_TOKENS, 3 * MAX_TOKENS)
    assert turn.cost_nano is None
    assert numbers.stats(me, parse("", now_us=0)).tokens.input_tokens == 3 * MAX_TOKENS


def test_one_that_cannot_be_read_holds_up_no_other(me: Actor, caplog: pytest.LogCaptureFixture) -> None:
    keep(me, *reports.turn(1), *reports.turn(2), *reports.turn(3))
    spoil(2)
    projector.wake()
    assert turns() == [name(1), name(3)]
    assert waiting() == []
    assert [record.levelno for record in caplog.records if name(2) in record.getMessage()] == [logging.ERROR]


def test_it_is_tried_again_when_more_of_it_comes(me: Actor) -> None:
    first, tool, last, root = reports.turn(1)
    keep(me, first, tool)
    spoil(1)
    projector.wake()
    assert turns() == []
    SpanBatch.objects.all().delete()
    keep(me, first, tool, last, root)
    projector.wake()
    assert turns() == [name(1)]


def test_what_was_stored_of_it_before_stays(me: Actor) -> None:
    first, tool, last, root = reports.turn(1)
    keep(me, first, tool)
    projector.wake()
    keep(me, last, root)
    spoil(1)
    projector.wake()
    assert turns() == [name(1)]
    assert Trace.objects.unscoped("test").get().turn_count == 1
    assert waiting() == []


def test_calls_without_an_agent_fail_alone_too(me: Actor) -> None:
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    said: dict[str, Any] = {"gen_ai__input__messages": reports.text("user", "Hm?"), "gen_ai__conversation__id": "talk"}
    keep(me, *(reports.span(trace, 1, "chat m", at=trace, **chat, **said) for trace in (1, 2, 3)))
    spoil(1)
    projector.wake()
    assert waiting() == []


def test_those_that_rest_take_no_place_from_others(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(me, *reports.turn(1))
    keep(me, *reports.turn(2))
    monkeypatch.setattr(due_traces, "MAX_TRACES_PER_PASS", 1)
    monkeypatch.setattr(due_traces, "MAX_SPANS_PER_PASS", 4)
    [first] = waiting()
    [second] = due_traces.next_pass({first})
    assert due_traces.next_pass({first, second}) == []


def test_a_trace_without_end_is_read_up_to_a_bound(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_spans, "MAX_SPANS", 6)
    calls = [
        reports.span(1, number, "chat m", parent=1, at=number, gen_ai__operation__name="chat") for number in range(2, 9)
    ]
    for some in (reports.turn(1)[-1:], calls[:4], calls[4:]):
        keep(me, *some)
    projector.wake()
    [(count, request)] = Turn.objects.unscoped("test").values_list("step_count", "body__request")
    assert count == 5
    assert "The trace is longer: only its first 6 spans became steps." in request
    assert waiting() == []


def test_so_is_one_with_endless_words(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_spans, "MAX_BYTES", 1)
    for some in (reports.turn(1)[:1], reports.turn(1)[1:]):
        keep(me, *some)
    projector.wake()
    assert list(Turn.objects.unscoped("test").values_list("step_count", flat=True)) == [1]


def test_a_trace_that_is_deleted_meanwhile_does_not_come_back(me: Actor) -> None:
    keep(me, *reports.turn(1), *reports.turn(2))
    read = [projection._try_projecting(one) for one in due_traces.load(due_traces.next_pass())]
    trace_deletion.delete_traces(Trace.objects.unscoped("test").filter(foreign_id=name(1)).values_list("pk", flat=True))
    projection._store_together([one for one in read if one is not None])
    assert turns() == [name(2)]


# ---------------------------------------------------------------------- read in a process of their own


class Child:
    """The process that reads a trace apart, which is done something to as soon as it is told of the trace."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self._act, self._done = act, False

    def __call__(self, execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if "agents_spanbatch" in sql and not self._done and readers._running:
            self._done = True
            [child] = readers._running
            self._act(child._process.pid)
        return execute(sql, *given)


def kill(pid: int) -> None:
    """As the kernel does where memory runs out."""
    os.kill(pid, signal.SIGKILL)


def starve(pid: int) -> None:
    """Give it no more memory than it has, once it is there."""
    eventually(lambda: resource.prlimit(pid, resource.RLIMIT_AS)[0] == trace_worker.MEMORY_BYTES)
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (most, most))


@pytest.mark.parametrize("act", [kill, starve])
def test_one_whose_reader_dies_is_tried_once_until_more_of_it_comes(
    act: Callable[[int], None], me: Actor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due_traces, "LARGE_TRACE_SPANS", 3)
    first, tool, last, root = reports.turn(1)
    said: dict[str, Any] = {"gen_ai__output__messages": reports.text("assistant", "word " * 4_000_000)}
    long = reports.span(1, 9, "chat m", parent=1, gen_ai__operation__name="chat", **said)
    keep(me, first, tool, last, long)
    keep(me, *reports.turn(2)[1:])
    with connection.execute_wrapper(Child(act)):
        projector.wake()
    assert turns() == [name(2)]
    assert due_traces.next_pass(large=True) == []
    [said_of_it] = [record for record in caplog.records if name(1) in record.getMessage()]
    assert said_of_it.levelno == logging.ERROR
    keep(me, root)
    projector.wake()
    assert turns() == [name(1), name(2)]


def test_one_whose_reader_was_told_to_stop_is_left_for_later(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_traces, "LARGE_TRACE_SPANS", 3)
    keep(me, *reports.turn(1))
    with connection.execute_wrapper(Child(lambda pid: readers.stop_all())):
        projector.wake()
    assert turns() == []
    assert len(due_traces.next_pass(large=True)) == 1
    projector.wake()
    assert turns() == [name(1)]
