"""Many small traces are read by a process of their own, and come to the same as those that are read here."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.turns import Step, Turn, TurnBody
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import batch_reader, due_traces, inbox, projection, reader_process
from agents.telemetry.store.external.projector import project_at_once, projector
from tests.support.live.process import eventually
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db
MANY = 12


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture(autouse=True)
def _read_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projection, "MIN_TRACES_APART", 2)
    monkeypatch.setattr(projection, "MAX_STEPS_PER_WRITE", 1)
    monkeypatch.setattr(batch_reader, "has_cores", lambda: True)


def keep(actor: Actor, words: int = 40_000) -> None:
    """Traces that do not fit into a pipe together, unless they have fewer words."""
    for trace in range(1, 1 + MANY):
        call: dict[str, Any] = {
            "gen_ai__operation__name": "chat",
            "gen_ai__output__messages": reports.text("assistant", "word " * words),
        }
        spans = *reports.turn(trace), reports.span(trace, 9, "chat m", parent=1, **call)
        inbox.accept(actor, traces_from_json(reports.request(*spans)).spans)


def name(trace: int) -> str:
    return f"{trace:032x}"


def turns() -> list[Any]:
    rows = Turn.objects.unscoped("test").order_by("foreign_id")
    return list(rows.values_list("foreign_id", "status", "input_tokens", "step_count", "session__name", "agent__name"))


def contents() -> list[Any]:
    steps = Step.objects.unscoped("test").order_by("turn__foreign_id", "number")
    bodies = TurnBody.objects.unscoped("test").order_by("turn__foreign_id")
    return [
        list(steps.values_list("foreign_id", "type", "name", "status", "detail__body", "finish__value")),
        list(bodies.values_list("input_messages", "output_message", "request")),
    ]


class Process:
    """The process, which something is done to as soon as the first traces that it has read are stored."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self._act = act
        self.ids: list[int] = []

    def __call__(self, execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if sql.startswith("UPDATE agents_trace") and reader_process._running and not self.ids:
            self.ids = [process._process.pid for process in reader_process._running]
            self._act(self.ids[0])
        return execute(sql, *given)


def test_they_are_the_same_as_read_here(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(me, words=10)  # short enough to be stored without keys of blocks
    process = Process(lambda pid: None)
    with connection.execute_wrapper(process):
        projector.wake()
    assert process.ids
    read_apart = turns(), contents()
    assert len(read_apart[0]) == MANY
    monkeypatch.setattr(projection, "MIN_TRACES_APART", MANY + 1)
    Turn.objects.unscoped("test").delete()
    Trace.objects.unscoped("test").delete()
    keep(me, words=10)
    projector.wake()
    assert (turns(), contents()) == read_apart


def test_those_whose_process_is_killed_are_read_here(me: Actor) -> None:
    keep(me)
    process = Process(lambda pid: os.kill(pid, signal.SIGKILL))
    with connection.execute_wrapper(process):
        projector.wake()
    assert process.ids
    assert [row[0] for row in turns()] == [name(trace) for trace in range(1, 1 + MANY)]


def test_those_whose_process_is_stopped_are_left_for_later(me: Actor) -> None:
    keep(me)
    with connection.execute_wrapper(Process(lambda pid: reader_process.stop_all())):
        projector.wake()
    left = due_traces.next_pass()
    assert left
    projector.wake()
    assert len(turns()) == MANY


def test_one_that_cannot_be_read_holds_up_no_other(me: Actor, caplog: pytest.LogCaptureFixture) -> None:
    keep(me)
    SpanBatch.objects.filter(trace__foreign_id=name(3)).update(encoding=1, body=b"no longer readable")
    projector.wake()
    assert [row[0] for row in turns()] == [name(trace) for trace in range(1, 1 + MANY) if trace != 3]
    assert [record.levelno for record in caplog.records if name(3) in record.getMessage()] == [logging.ERROR]
    assert due_traces.next_pass() == []


def test_no_process_is_left_behind(me: Actor) -> None:
    keep(me)
    projector.wake()
    assert not reader_process._running


def test_nor_after_an_import_once_there_is_none_for_long(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(me, words=10)
    monkeypatch.setattr(batch_reader, "IDLE_S", 0.5)
    process = Process(lambda pid: None)
    with connection.execute_wrapper(process):
        project_at_once(me.user_id, due_traces.next_pass())
    assert process.ids
    assert len(turns()) == MANY
    eventually(lambda: not reader_process._running)
