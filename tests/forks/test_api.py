"""Forks and comparisons over the API: as a turn is created, refused with field and reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from agents.record.store import sessions
from tests.loop.play import LOOKUP
from tests.support.builders import Recorded, make_agent, make_response, make_session, make_turn
from tests.support.inprocess import body_of, json_of

pytestmark = pytest.mark.usefixtures("_served", "_quiet")

LINES = 'call lookup {"query": "x"}\nthen\nsay Done.'


def made(script: str = LINES, **more: Any) -> Recorded:
    actor = keys.local()
    agent = make_agent(actor, client_tools=[LOOKUP.model_dump()])
    return make_turn(actor, script, agent=agent, session=make_session(actor, agent), **more)


def url_of(turn: Recorded) -> str:
    session = ids.public(ids.Kind.SESSION, turn.session)
    agent = ids.public(ids.Kind.AGENT, turn.agent.key)
    return f"/v1/agents/{agent}/session/{session}/turn/{turn.public_id}"


def post(turn: Recorded, body: Any, suffix: str = "/fork") -> Any:
    return Client().post(url_of(turn) + suffix, json.dumps(body), content_type="application/json")


def test_it_answers_like_a_created_turn() -> None:
    turn = made("say Hello.")
    answer = post(turn, {"step": 1})
    assert answer.status_code == 200, answer.content
    told = json_of(answer)
    assert told["output_message"]["content"] == "Hello."
    assert told["turn_id"] != turn.public_id
    detail = Client().get(url_of(turn).replace(turn.public_id, told["turn_id"]))
    assert detail.json()["turn_id"] == told["turn_id"]


def test_it_streams() -> None:
    frames = body_of(post(made("say Hello."), {"step": 1, "stream": True})).decode()
    assert '"event_type":"turn_start"' in frames
    assert '"event_type":"turn_complete"' in frames


def test_the_session_shows_the_path_without_the_fork() -> None:
    turn = made("say Hello.")
    body_of(post(turn, {"step": 1}))
    session = Client().get(url_of(turn).partition("/turn/")[0]).json()
    assert [one["turn_id"] for one in session["turns"]] == [turn.public_id]
    assert sessions.get(keys.local(), turn.session).turn_count == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "step"),
        ({"step": 99}, "step"),
        ({"step": "x" * 5000}, "step"),
        ({"step": 1.5}, "step"),
        ({"step": 1, "tools": "none"}, "tools"),
        ({"step": 1, "changes": {"nosuch": "x"}}, "nosuch"),
        ({"step": 1, "changes": {"model": ""}}, "model"),
        ({"step": 1, "changes": {"model": 5}}, "model"),
        ({"step": 1, "changes": {"sampling_params": {"max_tokens": -1}}}, "max_tokens"),
        ({"step": 1, "changes": {"tool_result": "x"}}, "changes.tool_result"),
        ({"step": 2, "changes": {"input": "x"}}, "changes.input"),
        ({"step": 1, "changes": {"input": ""}}, "input"),
        ([], ""),
    ],
)
def test_bad_input_is_refused_with_field_and_reason(body: Any, field: str) -> None:
    answer = post(made(), body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["message"]
    assert field in f"{error['param']}"


def test_hostile_changes_are_taken_as_text() -> None:
    hostile = "<script>\x00\ud800</script>"
    answer = post(made("say Hello."), {"step": 1, "changes": {"instructions": hostile}})
    assert answer.status_code in (200, 400)


def test_a_waiting_turn_is_forked_and_a_running_one_is_not() -> None:
    assert post(made(client_tools=[LOOKUP]), {"step": 1}).status_code == 200
    assert post(made("say Hello.", upto=2), {"step": 1}).status_code == 409


def test_two_turns_are_compared() -> None:
    one, other = made("say Hello there."), made("say Hello you.")
    answer = Client().get(f"/v1/logs/turns/{one.public_id}/compare/{other.public_id}")
    told = answer.json()
    assert answer.status_code == 200
    assert told["counts"] == {"same": 0, "changed": 1, "deleted": 0, "inserted": 0}
    [pair] = told["steps"]
    assert [piece["op"] for piece in pair["texts"][0]["pieces"]] == ["same", "deleted", "inserted"]
    assert told["fork"] is None
    instructions = next(one for one in told["parameters"] if one["name"] == "instructions")
    assert instructions["same"]


def test_a_response_is_compared_with_a_turn() -> None:
    one, other = made("say Hello."), make_response(keys.local(), "say Hello.")
    url = f"/v1/logs/turns/{one.public_id}/compare/{ids.public(ids.Kind.TURN, other.turn)}"
    assert Client().get(url).json()["counts"]["same"] == 1


@pytest.mark.parametrize("other", ["no-id", "00000000-0000-4000-8000-000000000000"])
def test_what_is_not_there_cannot_be_compared(other: str) -> None:
    turn = made("say Hello.").public_id
    assert Client().get(f"/v1/logs/turns/{turn}/compare/{other}").status_code == 404
    assert Client().get(f"/v1/logs/turns/{other}/compare/{turn}").status_code == 404
