"""Waiting for a person or the client is no duration: neither of a turn, nor of its steps, nor in any number."""

from __future__ import annotations

import importlib
import json
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.base.store.writer import writer
from agents.record.models.turns import Step, Turn
from agents.record.store import closing, decisions, turns
from agents.record.store.closing import TurnEnding
from agents.record.store.decisions import Decision
from tests.conftest import Clock
from tests.support.doubtful_turns import make_doubtful, taken_over
from tests.support.pages.openai_requests import LOOKUP, respond

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("inline_turns")]

HALF_A_DAY_S = 12 * 3_600
WAITED_MS = HALF_A_DAY_S * 1_000


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def waiting(me: Actor) -> tuple[str, str]:
    """A response that waits for its client, and its turn."""
    return respond(me, 'call lookup_order {"order": 7}', "then", "say It is on its way.", tools=[LOOKUP])


def answer(me: Actor, response: str, turn: str) -> None:
    [pending] = turns.pending_calls(turns.key_of(turn))
    call = {"type": "function_call_output", "call_id": json.loads(pending.call)["call_id"], "output": "It left."}
    respond(me, given=[call], previous_response_id=response)


def rows(client: Client, level: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/v1/logs/{level}", {"q": query}).json()["data"]
    return found


def stats(client: Client, level: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/logs/{level}/stats").json()["data"]
    return found


def test_an_answer_that_comes_late_makes_no_turn_slow(client: Client, me: Actor, clock: Clock) -> None:
    response, turn = waiting(me)
    [row] = rows(client, "turns")
    assert (row["duration_ms"], row["waited_ms"]) == (None, None)
    assert row["waiting_since"]
    clock.pass_s(HALF_A_DAY_S)
    answer(me, response, turn)
    [row] = rows(client, "turns")
    assert row["waiting_since"] is None
    assert row["duration_ms"] < 1_000
    assert row["waited_ms"] == pytest.approx(WAITED_MS, abs=1)
    assert [each["id"] for each in rows(client, "turns", "waited:>11h")] == [turn]
    assert rows(client, "turns", "duration:>1h") == rows(client, "turns", "-has:waited") == []
    numbers = stats(client, "turns")
    assert numbers["duration_ms"]["p99"] < 1_000
    assert numbers["waited_ms"]["p50"] == pytest.approx(WAITED_MS, abs=1)


def test_a_call_that_only_waited_has_no_duration(client: Client, me: Actor, clock: Clock) -> None:
    response, turn = waiting(me)
    clock.pass_s(HALF_A_DAY_S)
    answer(me, response, turn)
    [call] = rows(client, "steps", "type:tool")
    assert (call["duration_ms"], call["waited_ms"]) == (None, pytest.approx(WAITED_MS, abs=1))
    assert stats(client, "steps")["duration_ms"]["p99"] < 1_000
    assert [each["id"] for each in rows(client, "steps", "waited:>11h")] == [call["id"]]


def test_pages_show_both_times(client: Client, me: Actor, clock: Clock) -> None:
    response, turn = waiting(me)
    clock.pass_s(HALF_A_DAY_S)
    answer(me, response, turn)
    for url in ("/logs/", "/steps/"):
        assert "waited 12 h" in client.get(url).content.decode()
    page = client.get(f"/turns/{turn}/").content.decode()
    assert "<dt>Waited</dt><dd>12 h" in page


def test_a_turn_that_is_cancelled_while_it_waits_has_waited(client: Client, me: Actor, clock: Clock) -> None:
    _, turn = waiting(me)
    clock.pass_s(HALF_A_DAY_S)
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, turns.key_of(turn), end, statuses=closing.WAITING))
    [row] = rows(client, "turns")
    assert row["duration_ms"] < 1_000
    assert row["waited_ms"] == pytest.approx(WAITED_MS, abs=1)


def test_a_decision_that_comes_late_makes_no_turn_slow(client: Client, admin: Actor, clock: Clock) -> None:
    doubtful = make_doubtful(admin)
    clock.pass_s(HALF_A_DAY_S)
    decisions.decide(admin, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    taken_over(doubtful.made)
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, doubtful.made.turn, end, statuses=closing.RUNNING))
    turn = Turn.all_objects.get(pk=doubtful.made.turn)
    assert turn.waited_us == pytest.approx(HALF_A_DAY_S * 1e6, abs=10)
    assert turn.duration_us is not None
    assert turn.duration_us < 1_000_000
    assert turn.waiting_at is None


def test_turns_of_before_are_filled_in(client: Client, me: Actor, clock: Clock) -> None:
    response, turn = waiting(me)
    clock.pass_s(HALF_A_DAY_S)
    answer(me, response, turn)
    _, cancelled = waiting(me)
    clock.pass_s(HALF_A_DAY_S)
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, turns.key_of(cancelled), end, statuses=closing.WAITING))
    waiting(me)
    respond(me, "say Hello.")
    expected = times()
    forget_waits()
    assert times() != expected
    fill = importlib.import_module("agents.migrations.0041_earlier_waits").fill
    for _ in range(2):  # a second time, as after one that was broken off
        after: int | None = 0
        with connection.cursor() as cursor:
            while after is not None:
                after = fill(cursor, after)
    assert times() == expected


def times() -> list[Any]:
    columns = ("pk", "duration_us", "waited_us")
    of_turns = Turn.all_objects.order_by("pk").values_list(*columns, "waiting_at")
    return [*of_turns, *Step.all_objects.order_by("pk").values_list(*columns)]


def forget_waits() -> None:
    """Write the rows as earlier versions did."""
    with connection.cursor() as cursor:
        for table in ("agents_turn", "agents_step"):
            cursor.execute(f"UPDATE {table} SET waited_us = NULL, duration_us = completed_at - started_at")
        cursor.execute("UPDATE agents_turn SET waiting_at = NULL")
