"""A large trace is stored some of its steps at a time, and comes to the same as one that is stored at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection

from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, keys
from agents.base.store.changes import ChangeBatch
from agents.record.models.agents import Session
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.store.deletion import delete_sessions
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading import trace_worker
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import due_traces, inbox, projection
from agents.telemetry.store.external.projector import projector
from tests.telemetry.reading import captures, reports

pytestmark = pytest.mark.django_db

MANY = 2 * trace_worker.STEPS_PER_SLICE + 50
TURN = [
    field.attname
    for field in Turn._meta.concrete_fields
    if field.attname not in ("id", "session_id", "agent_id", "parent_id", "number")
]
STEP = [field.attname for field in Step._meta.concrete_fields if field.attname not in ("id", "turn_id", "parent_id")]


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.fixture
def by_slices(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on every trace counts as large, and every turn."""

    def begin() -> None:
        monkeypatch.setattr(due_traces, "LARGE_TRACE_SPANS", 0)
        monkeypatch.setattr(projection, "MAX_STEPS_PER_WRITE", -1)

    return begin


def call(number: int, trace: int = 1) -> Any:
    said: dict[str, Any] = {"gen_ai__output__messages": reports.text("assistant", f"word{number}")}
    used = {"gen_ai__usage__input_tokens": 2, "gen_ai__usage__output_tokens": 1}
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    return reports.span(trace, number, "chat m", parent=1, at=number, **chat, **said, **used)


def root(trace: int = 1) -> Any:
    named = {"gen_ai__agent__name": "long", "gen_ai__conversation__id": f"talk {trace}"}
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", **named}
    return reports.span(trace, 1, "invoke_agent", at=0, takes=9_000.0, **agent)


def spans(*given: Any) -> Sequence[Span]:
    return traces_from_json(reports.request(*given)).spans


def stored() -> list[Any]:
    """All of the turns but what is another one each time they are made."""
    found = []
    for turn in Turn.objects.unscoped("test").order_by("foreign_id"):
        steps = Step.objects.unscoped("test").filter(turn_id=turn.pk).order_by("number")
        names = dict(steps.values_list("pk", "foreign_id"))
        told = steps.values_list("detail__body", "detail__error", "parent_id", *STEP)
        body = TurnBody.objects.unscoped("test").filter(turn_id=turn.pk)
        said = body.values("input_messages", "output_message", "request", "error", "metadata")
        session = Session.objects.unscoped("test").filter(pk=turn.session_id)
        sums = session.values("name", "foreign_id", "turn_count", "input_tokens", "output_tokens", "cost_nano")
        found.append(
            (
                [getattr(turn, name) for name in TURN],
                [(bytes(row[0] or b""), row[1], names.get(row[2]), *row[3:]) for row in told],
                list(said),
                list(sums),
                words("turn", [turn.pk]),
                words("step", list(names)),
            )
        )
    return found


def words(table: str, found: list[int]) -> list[Any]:
    parts, key = ("input, output, problem, metadata, steps", "said, args, result, problem")[table == "step"], "id"
    if connection.vendor == "sqlite":
        key = "rowid"
    among = ", ".join(map(str, found)) or "0"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {parts} FROM agents_{table}_search WHERE {key} IN ({among})")
        return sorted(cursor.fetchall())


def forget() -> None:
    delete_sessions(list(Session.objects.unscoped("test").values_list("pk", flat=True)))
    Trace.objects.unscoped("test").delete()


@contextmanager
def commits() -> Iterator[list[int]]:
    """How many steps each of them wrote."""
    sizes: list[int] = []

    def count(changed: ChangeBatch) -> None:
        sizes.append(sum(kind == ChangeKind.STEP for kind, _ in changed.records))

    end = changes.listen(count)
    try:
        yield sizes
    finally:
        end()


def test_no_commit_writes_more_than_a_slice(me: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_traces, "LARGE_TRACE_SPANS", 500)
    inbox.accept(me, spans(root(), *map(call, range(2, MANY + 2))))
    with commits() as sizes:
        projector.wake()
    assert sum(sizes) == MANY
    assert max(sizes) <= trace_worker.STEPS_PER_SLICE


def test_nor_do_many_small_traces(me: Actor) -> None:
    for trace in range(1, 41):
        inbox.accept(me, spans(root(trace), *(call(number, trace) for number in range(2, 32))))
    with commits() as sizes:
        projector.wake()
    assert sum(sizes) == 30 * 40
    assert max(sizes) <= projection.MAX_STEPS_PER_WRITE


def at_once(me: Actor, given: Sequence[Span]) -> list[Any]:
    """What is stored of these spans where they are read here and stored together; nothing is left of it."""
    inbox.accept(me, given)
    projector.wake()
    whole = stored()
    forget()
    return whole


def test_a_long_turn_is_the_same_by_slices(me: Actor, by_slices: Callable[[], None]) -> None:
    given = spans(root(), *map(call, range(2, MANY + 2)))
    whole = at_once(me, given)
    by_slices()
    inbox.accept(me, given)
    projector.wake()
    assert stored() == whole


def test_so_is_one_that_grew_at_both_ends(me: Actor, by_slices: Callable[[], None]) -> None:
    given = spans(root(), *map(call, range(2, MANY + 2)))
    whole = at_once(me, given)
    by_slices()
    keys_there: set[int] = set()
    for some in (given[40:-300], given[10:40], given[-300:], given[:10]):
        inbox.accept(me, some)
        projector.wake()
        there = set(Step.objects.unscoped("test").values_list("pk", flat=True))
        assert keys_there <= there  # a step keeps its key
        keys_there = there
    assert [turn[:1] + turn[2:] for turn in stored()] == [turn[:1] + turn[2:] for turn in whole]
    assert [turn[1] for turn in stored()] == [turn[1] for turn in whole]


def test_what_broke_off_is_done_again(me: Actor, by_slices: Callable[[], None]) -> None:
    given = spans(root(), *map(call, range(2, MANY + 2)))
    whole = at_once(me, given)
    by_slices()
    inbox.accept(me, given[30:])
    projector.wake()
    inbox.accept(me, given[:30])
    asides = iter(range(10))

    def away(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if many and "number = -1 - number" in sql and next(asides) == 2:
            raise OperationalError("away")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        projector.wake()
    assert Step.objects.unscoped("test").filter(number__lt=0).exists()
    projector.wake()
    assert stored() == whole
    assert due_traces.next_pass(large=True) == []


@pytest.mark.parametrize(
    "name", ["openai_agents__handoff", "otel_genai_openai_agents__handoff", "openinference_openai__no-session"]
)
def test_a_capture_is_the_same_by_slices(name: str, me: Actor, by_slices: Callable[[], None]) -> None:
    inbox.accept(me, captures.spans(name))
    projector.wake()
    whole = stored()
    forget()
    by_slices()
    inbox.accept(me, captures.spans(name))
    projector.wake()
    assert stored() == whole
