"""The thread that makes turns of reports: pass after pass, until nothing waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection

from agents.base.access import Actor
from agents.base.models.people import User
from agents.base.store import keys
from agents.record.models.turns import Turn
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import due_traces, inbox, projection
from agents.telemetry.store.external.projector import Projector, project_at_once
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def one() -> Iterator[Projector]:
    projector = Projector()
    yield projector
    projector.stop()


@pytest.fixture(autouse=True)
def _two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_traces, "MAX_TRACES_PER_PASS", 2)


def keep(actor: Actor, *traces: int) -> None:
    for trace in traces:
        inbox.accept(actor, traces_from_json(reports.request(*reports.turn(trace))).spans)


def turns() -> list[str | None]:
    return list(Turn.objects.unscoped("test").order_by("foreign_id").values_list("foreign_id", flat=True))


def names(*traces: int) -> list[str]:
    return [f"{trace:032x}" for trace in traces]


def refusing(is_refused: Callable[[Any], bool]) -> Callable[..., Any]:
    """A database that fails when it is told that certain traces are done."""

    def run(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE agents_trace SET projected") and is_refused(params):
            raise OperationalError("disk I/O error")
        return execute(sql, params, many, context)

    return run


def test_it_goes_on_until_nothing_waits(me: Actor, one: Projector) -> None:
    keep(me, 1, 2, 3, 4, 5)
    one._run_passes()
    assert turns() == names(1, 2, 3, 4, 5)
    assert due_traces.next_pass() == []


def test_senders_take_turns(me: Actor, one: Projector) -> None:
    other = keys.of_user(User.objects.create_user("ben"))
    keep(me, 1, 2, 3, 4, 5)
    keep(other, 6, 7, 8)
    stored: list[int] = []

    def note(rows: Any) -> bool:
        stored.extend(row[-1] for row in rows)
        return False

    with connection.execute_wrapper(refusing(note)):
        one._run_passes()
    names = dict(Trace.objects.unscoped("test").values_list("pk", "foreign_id"))
    assert [int(names[trace], 16) for trace in stored] == [1, 2, 6, 7, 3, 4, 8, 5]


def test_what_the_database_refused_once_is_stored_at_the_next_try(me: Actor, one: Projector) -> None:
    keep(me, 1, 2, 3)
    left = [OperationalError]
    with connection.execute_wrapper(refusing(lambda params: bool(left and left.pop()))):
        with pytest.raises(OperationalError):
            one._run_passes()
        one._run_passes()
    assert turns() == names(1, 2, 3)


def test_a_trace_that_the_database_never_takes_holds_up_no_other(me: Actor, one: Projector) -> None:
    keep(me, 1, 2, 3, 4, 5)
    [bad] = Trace.objects.unscoped("test").filter(foreign_id=names(2)[0]).values_list("pk", flat=True)
    with connection.execute_wrapper(refusing(lambda rows: any(row[-1] == bad for row in rows))):
        for _ in range(2):
            with pytest.raises(OperationalError):
                one._run_passes()
        one._run_passes()
    assert turns() == names(1, 3, 4, 5)
    assert due_traces.next_pass() == [bad]


def test_what_another_process_projects_is_left_to_it(me: Actor, one: Projector) -> None:
    keep(me, 1, 2)
    other = Projector()
    assert other._next_traces(set())
    one._run_passes()
    assert turns() == []
    other._run_passes()
    assert turns() == names(1, 2)
    keep(me, 3)
    one._run_passes()
    assert turns() == names(1, 2, 3)
    other.stop()


def test_what_another_process_has_projected_is_not_projected_again(me: Actor, one: Projector) -> None:
    keep(me, 1)
    found = due_traces.next_pass()
    one._run_passes()
    Turn.objects.unscoped("test").update(stop_reason="as the other left it")
    projection.project([found])
    assert list(Turn.objects.unscoped("test").values_list("stop_reason", flat=True)) == ["as the other left it"]


def test_large_traces_of_a_sender_hold_up_no_others(me: Actor, one: Projector, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(me, 1, 2)
    monkeypatch.setattr(due_traces, "LARGE_TRACE_SPANS", 1)
    large = Projector(large=True)
    assert large._next_traces(set())
    monkeypatch.undo()
    one._run_passes()
    assert turns() == names(1, 2)
    large.stop()


@pytest.mark.django_db(transaction=True)
def test_an_import_takes_what_a_busy_projector_has_made_of_its_traces(me: Actor) -> None:
    keep(me, 1)
    busy, done = Projector(), threading.Event()
    assert busy._next_traces(set())
    [trace] = due_traces.next_pass()

    def wait() -> None:
        project_at_once(me.user_id, [trace])
        done.set()
        connection.close()

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert not done.wait(0.3)
    projection.project([[trace]])
    assert done.wait(30)
    waiting.join()
    assert busy._senders.are_held
    busy.stop()
