"""Answers, approvals and cancellations say who and when: on the page, in the raw events, in rows and for queries."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import keys
from agents.loop.current_service import service
from agents.loop.schemas.turns import ResumeTurn
from agents.pages import step_cards, turn_actions
from agents.record.schemas.content import ToolCall, ToolResponse
from agents.record.schemas.events import RULE, StepDecided
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import decisions, turns
from agents.record.store.decisions import Decision
from tests.support.builders import make_agent, record
from tests.support.doubtful_turns import make_doubtful
from tests.support.live.caller import script
from tests.support.pages.markup import elements, words
from tests.support.pages.turn_page import get

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("inline_turns")]

REFUND = {"name": "approve_refund", "parameters": [{"name": "order", "parameter_type": "str", "description": "order"}]}
ASK = {"name": "ask_user", "parameters": [{"name": "question", "parameter_type": "str", "description": "question"}]}


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def waiting(actor: Actor, *lines: str) -> str:
    """A turn whose client is asked for these calls; its public id."""
    agent = make_agent(actor, client_tools=[REFUND, ASK])
    return turn_actions.try_agent(actor, agent.key, script(*lines, "then", "say Done."))[0]


def calls(turn: str) -> list[ToolCall]:
    return [ToolCall.model_validate_json(call.call) for call in turns.pending_calls(turns.key_of(turn))]


def answered(client: Client, turn: str, **posted: str) -> str:
    """The turn's page after its only call was answered with these fields."""
    [call] = calls(turn)
    form = {f"{name}:{call.call_id}": text for name, text in posted.items()}
    assert client.post(f"/turns/{turn}/answer/", form).status_code == 302
    return get(client, f"/turns/{turn}/")


def found(client: Client, query: str, level: str = "steps") -> list[Any]:
    answer = client.get(f"/v1/logs/{level}", {"q": query})
    assert answer.status_code == 200, answer.content
    rows: list[Any] = answer.json()["data"]
    return rows


@pytest.mark.parametrize(
    ("posted", "note"),
    [
        ({"decision": "approve"}, "approved by local"),
        ({"decision": "refuse", "reason": "Too much."}, "refused by local"),
        ({"call": "Monday"}, "answered by local"),
        ({"call": '{"approved": 1}'}, "answered by local"),
    ],
)
def test_an_answer_on_the_page_is_signed(client: Client, me: Actor, posted: dict[str, str], note: str) -> None:
    turn = waiting(me, 'call approve_refund {"order": "7"}')
    page = answered(client, turn, **posted)
    assert note in words(page)
    assert posted.get("reason", "") in words(page)
    raw = b"".join(client.get(f"/turns/{turn}/events.jsonl"))
    ended = [event for event in map(json.loads, raw.splitlines()) if event["type"] == "step.ended"]
    [signed] = [event for event in ended if event["step_type"] == "tool_execution"]
    assert signed["detail"]["answered_by"] == "local"
    [row] = found(client, "answered_by:local")
    assert (row["turn_id"], row["name"], row["answered_by"]) == (turn, "approve_refund", "local")
    assert row["completed_at"] == signed["at"]
    assert [row["id"] for row in found(client, "answered_by:lo*", "turns")] == [turn]
    assert found(client, "answered_by:maria", "turns") == []


def test_an_answer_of_a_key_is_signed_with_its_name(me: Actor, client: Client) -> None:
    turn = waiting(me, 'call ask_user {"question": "?"}')
    key = Actor("maria (ci)", me.user_id, attributes=me.attributes, actions=me.actions)
    [call] = calls(turn)
    target = turns.target(key, turns.key_of(turn), action="run")
    body = ResumeTurn(tool_responses=[ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content="Monday")])
    service().resume_turn(key, target, service().config_of(key, target), body)
    assert "answered by maria (ci)" in words(get(client, f"/turns/{turn}/"))
    assert [row["turn_id"] for row in found(client, '-answered_by:local answered_by:"maria (ci)"')] == [turn]


@pytest.mark.parametrize(
    ("approval", "note"),
    [("approved", "to run on lab: approved by maria"), ("refused", "not run on lab: refused by maria")],
)
def test_a_word_on_a_call_of_the_server_is_signed(approval: str, note: str) -> None:
    call = {"call_id": "c1", "tool_name": "lookup", "arguments": {}}
    detail = {"tool_calls": [call], "label": "lab", "kind": "mcp", "approval": approval, "answered_by": "maria"}
    turn = TurnSnapshot(1, 2, "completed", "m", 5, b"[]")
    step = StepSnapshot(3, 0, 0, "tool_execution", "lookup", "completed", False, 6, 9, json.dumps(detail).encode())
    card = step_cards.step_card(turn, step, "m")
    assert (card.note, card.answered_at) == (note, 9)
    del detail["answered_by"]
    card = step_cards.step_card(turn, replace(step, detail=json.dumps(detail).encode()), "m")
    assert ("the client" in card.note, card.answered_at) == (True, None)


def test_a_decision_is_signed_unless_a_rule_made_it(client: Client, me: Actor) -> None:
    by_rule, doubtful = make_doubtful(me), make_doubtful(me)
    decisions.decide(me, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
    seq = turns.target(me, by_rule.made.turn).next_seq
    record(by_rule.ref, [StepDecided(seq=seq, at=ids.now_us(), step=by_rule.steps[0], outcome="not_done", by=RULE)])
    [row] = found(client, "has:answered_by")
    assert (row["id"], row["answered_by"]) == (doubtful.step_ids[0], "local")


def test_a_cancellation_says_who_and_when(client: Client, me: Actor) -> None:
    turn = waiting(me, 'call ask_user {"question": "?"}')
    client.post(f"/turns/{turn}/cancel/")
    read = words(get(client, f"/turns/{turn}/"))
    assert "cancelled by local," in read
    assert "got no answer: cancelled by local, " in read
    assert [row["id"] for row in found(client, 'finish:"cancelled by local"', "turns")] == [turn]
    assert [row["status"] for row in found(client, "answered_by:local")] == ["cancelled"]


def test_a_new_message_instead_of_an_answer_is_signed_by_nobody(client: Client, me: Actor) -> None:
    turn = waiting(me, 'call ask_user {"question": "?"}')
    turn_actions.say(me, turns.target(me, turns.key_of(turn)).session, "Never mind.")
    assert "got no answer" in words(get(client, f"/turns/{turn}/"))
    assert found(client, "has:answered_by") == []


# --------------------------------------------------------------------------------------------- the form


def radios(page: str) -> list[tuple[str, bool]]:
    chosen = [each for each in elements(page, "input") if each.get("name", "").startswith("decision:")]
    return [(each["value"], "checked" in each) for each in chosen]


def buttons(page: str) -> list[str]:
    return [each.get("data-for", "") for each in elements(page, "button") if each.get("form") == "answer"]


def test_the_form_begins_with_what_is_asked(client: Client, me: Actor) -> None:
    asks = get(client, f"/turns/{waiting(me, 'call approve_refund {}')}/")
    assert radios(asks) == [("approve", True), ("refuse", False), ("answer", False)]
    says = get(client, f"/turns/{waiting(me, 'call ask_user {}')}/")
    assert radios(says) == [("answer", True), ("approve", False), ("refuse", False)]
    assert buttons(asks) == buttons(says) == ["approve", "refuse", "answer"]
    assert "recorded with your name" in words(asks)


def test_several_calls_are_sent_at_once(client: Client, me: Actor) -> None:
    page = get(client, f"/turns/{waiting(me, 'call approve_refund {}', 'call ask_user {}')}/")
    assert len(radios(page)) == 6
    assert buttons(page) == [""]
