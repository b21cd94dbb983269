"""What is left when turns go: sums that are those of the rest, and numbers nobody else has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from django.db import OperationalError, connection

from agents.base.access import Actor
from agents.base.errors import Conflict
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.logs.store import bulk
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.prices import Price
from agents.record.models.turns import Step, StepDetail, Turn
from agents.record.store import removal, sessions
from agents.record.store.deletion import delete_turns
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.otlp import traces_from_json
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.projector import projector
from tests.support.builders import make_agent, make_session, make_turn
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


def sums(session: int) -> tuple[int, int, int, int | None]:
    row = Session.objects.unscoped("test").get(pk=session)
    return row.turn_count, row.input_tokens, row.output_tokens, row.cost_nano


def test_a_session_sums_the_turns_it_still_has(admin: Actor) -> None:
    Price.objects.create(model="*", starts_at=to_datetime(0), input_nano=1000, output_nano=2000)
    agent = make_agent(admin)
    session = make_session(admin, agent)
    first = make_turn(admin, "say One two three.", agent=agent, session=session)
    after_one = sums(session)
    second = make_turn(admin, "say Four.", agent=agent, session=session)
    third = make_turn(admin, "say Five.", agent=agent, session=session)
    writer.write(lambda: delete_turns([second.turn, third.turn]))
    assert sums(session) == after_one
    assert Session.objects.unscoped("test").get(pk=session).last_turn == first.turn
    fourth = make_turn(admin, "say Six.", agent=agent, session=session)
    numbers = Turn.objects.unscoped("test").filter(session_id=session).order_by("number")
    assert list(numbers.values_list("pk", flat=True)) == [first.turn, fourth.turn]
    writer.write(lambda: delete_turns([first.turn, fourth.turn]))
    assert sums(session) == (0, 0, 0, None)


MANY = removal.ROWS_PER_JOB + 100


def reported(actor: Actor) -> int:
    """A session with a turn of very many steps."""
    calls = [
        reports.span(1, number, "chat m", parent=1, at=number, gen_ai__operation__name="chat")
        for number in range(2, MANY + 2)
    ]
    top: dict[str, Any] = {
        "gen_ai__operation__name": "invoke_agent",
        "gen_ai__agent__name": "long",
        "gen_ai__conversation__id": "t",
    }
    root = reports.span(1, 1, "invoke_agent", at=0, takes=9_000, **top)
    inbox.accept(actor, traces_from_json(reports.request(root, *calls)).spans)
    projector.wake()
    assert Step.objects.unscoped("test").count() == MANY
    return int(Session.objects.unscoped("test").values_list("pk", flat=True).get())


def nothing_left() -> bool:
    kept = (Session, Turn, Step, Trace)
    return not any(model.objects.unscoped("test").exists() for model in kept) and not StepDetail.objects.exists()


def test_a_session_of_many_steps_goes_by_jobs_of_a_few(admin: Actor) -> None:
    session, counts = reported(admin), [MANY]
    end = changes.listen(lambda _: counts.append(Step.objects.unscoped("test").count()))
    sessions.delete(admin, session)
    end()
    assert max(before - after for before, after in pairwise(counts)) <= removal.STEPS_PER_JOB
    assert nothing_left()


def test_what_a_deletion_left_when_it_broke_off_goes_later(admin: Actor) -> None:
    session, seen = reported(admin), iter(range(10))

    def away(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE FROM agents_step_search") and next(seen) == 2:
            raise OperationalError("away")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        sessions.delete(admin, session)
    assert 0 < Step.objects.unscoped("test").count() < MANY
    projector.wake()
    assert removal.continue_removals() == 1
    assert nothing_left()


def test_many_sessions_go_some_at_a_time(admin: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "MAX_KEYS_PER_JOB", 2)
    agent = make_agent(admin)
    keys = [make_session(admin, agent) for _ in range(5)]
    for session in keys:
        make_turn(admin, "say One.", agent=agent, session=session)
    counts = [5]
    end = changes.listen(lambda _: counts.append(Session.objects.unscoped("test").count()))
    assert bulk.delete(admin, "session", keys) == bulk.BulkResult(done=5)
    end()
    assert counts[-1] == 0
    assert max(before - after for before, after in pairwise(counts)) <= 2


def test_one_that_still_goes_on_is_left_whole(admin: Actor) -> None:
    session = reported(admin)
    Turn.objects.unscoped("test").update(status=TurnStatus.IN_PROGRESS)
    with pytest.raises(Conflict):
        sessions.delete(admin, session)
    assert Step.objects.unscoped("test").count() == MANY
    assert Trace.objects.unscoped("test").exists()
