"""Sessions of OpenAI's Agents API, with OpenAI's client: creation, streams, tools, cancellation, steering."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from openai import BadRequestError, ConflictError, NotFoundError, OpenAI
from pydantic import BaseModel

from tests.support.depth import deep
from tests.support.live.agents_api import (
    CANCEL,
    MODEL,
    NONE,
    Talk,
    agent,
    function,
    kinds,
    message,
    result,
    said,
    short,
)
from tests.support.live.caller import Caller, script
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = pytest.mark.server

TIME = function("get_time", "zone")
CALL = 'call get_time {"zone": "UTC"}'


# ------------------------------------------------------------------------------------------- creation


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"agent": agent(), "environment": NONE}, "input"),
        ({"agent": {"instructions": "Hi"}, "environment": NONE, "input": "Hello"}, "agent.model"),
        ({"environment": NONE, "input": "Hello"}, "agent"),
        ({"agent": agent(), "environment": {"type": "openai_hosted"}, "input": "Hello"}, "environment.type"),
        (
            {"agent": agent(), "environment": {"type": "self_hosted", "workspace_directory": "/"}, "input": "Hello"},
            "environment.type",
        ),
        ({"agent": agent(), "environment": NONE, "input": "Hello", "vault_ids": ["vault_1"]}, "vault_ids"),
        ({"agent": agent(), "environment": NONE, "input": "Hello", "review": "auto_review"}, "review"),
    ],
)
def test_what_cannot_begin_is_refused_by_name(openai_client: OpenAI, given: Any, param: str) -> None:
    with pytest.raises(BadRequestError) as refused:
        openai_client.beta.agents.sessions.create(**given)
    assert refused.value.param == param
    assert refused.value.type == "invalid_request_error"


def test_a_session_says_what_it_is(openai_client: OpenAI) -> None:
    more: Any = {"metadata": {"of": "tests"}, "prompt_cache_options": {"ttl": "12h"}, "spend_control": {"limit": None}}
    talk = Talk.begin(openai_client, "say Hello.", agent=agent(TIME), **more)
    session = talk.until("idle")
    assert talk.id.startswith("sess_")
    assert session.to_dict() == {
        "id": talk.id,
        "object": "agent.session",
        "agent": session.agent.to_dict(),
        "created_at": session.created_at,
        "last_active_at": session.last_active_at,
        "environment": {"type": "none"},
        "error": None,
        "metadata": {"of": "tests"},
        "required_actions": [],
        "status": "idle",
        "usage": session.usage.to_dict(),
        "vault_ids": [],
        "prompt_cache_options": {"ttl": "12h"},
        "review": "none",
        "spend_control": None,
    }
    assert session.agent.instructions == "Be brief."
    assert [tool.name for tool in session.agent.tools] == ["get_time"]
    assert session.usage.total_tokens == session.usage.input_tokens + session.usage.output_tokens


def test_a_created_session_streams_its_first_turn_and_ends(openai_client: OpenAI) -> None:
    given: Any = {"agent": agent(), "environment": NONE, "input": script("think Hm.", "say Hello there.")}
    with openai_client.beta.agents.sessions.create(**given, stream=True) as stream:
        events: list[Any] = list(stream)
    assert short(events) == [
        "created",
        "created",
        "item.added",
        "in_progress",
        "in_progress",
        "item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "item.done",
        "item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "item.done",
        "completed",
        "idle",
    ]
    assert kinds(events)[0] == "agent.session.created"
    assert len({event.event_id for event in events}) == len(events)
    deltas = "".join(event.delta for event in events if event.type.endswith("output_text.delta"))
    done = next(event.text for event in events if event.type.endswith("output_text.done"))
    item = [event.item for event in events if event.type.endswith("item.done")][-1]
    talk = Talk(openai_client, events[0].session.id)
    assert deltas == done == said(item) == said(talk.items()[-1]) == "Hello there."
    assert [one.to_dict() for one in talk.items()][1:] == [
        event.item.to_dict() for event in events if event.type.endswith("item.done")
    ]
    assert [one.type for one in talk.items()] == ["message", "reasoning", "message"]
    assert talk.items()[0].id == next(event.item.id for event in events if event.type.endswith("item.added"))


# --------------------------------------------------------------------------------------------- turns


def test_a_follow_up_sees_what_was_said(openai_client: OpenAI, held: HeldModel) -> None:
    first, second = held.hold(), held.hold()
    first.end("My name is Ann.")
    second.end("Ann.")
    talk = Talk.begin(openai_client, text=first.question, agent=agent(model="held/held"))
    talk.until("idle")
    with talk.sessions.stream(talk.id, input=second.question) as stream:
        assert stream.get_final_result().output_text == "Ann."
    [asked] = second.asked
    assert [(one["role"], one["content"]) for one in asked] == [
        ("system", "Be brief."),
        ("user", first.question),
        ("assistant", "My name is Ann."),
        ("user", second.question),
    ]
    assert [turn.status for turn in talk.turns()] == ["completed", "completed"]


def test_the_helper_wants_an_idle_session(openai_client: OpenAI, held: HeldModel) -> None:
    question = held.hold()
    talk = Talk.begin(openai_client, text=question.question, agent=agent(model="held/held"))
    with pytest.raises(ValueError, match="idle"), talk.sessions.stream(talk.id, input="Now?"):
        pass
    question.end("Done.")
    talk.until("idle")


def test_a_stream_goes_on_over_turns(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say One.")
    talk.until("idle")
    with talk.watched() as watcher:
        talk.send(message(script("say Two.")))
        watcher.until("idle")
        talk.send(message(script("say Three.")))
        events = watcher.until("idle", 2)
    begun = [event.turn_id for event in events if event.type == "agent.session.turn.created"]
    assert begun == [turn.id for turn in talk.turns()[1:]]
    assert events[0].type == "agent.session.turn.created"


def test_a_stream_ends_with_its_session(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say One.")
    talk.until("idle")
    with talk.watched() as watcher:
        talk.sessions.delete(talk.id)
        eventually(lambda: watcher.is_over)


def test_images_are_items_and_reach_the_model(openai_client: OpenAI, held: HeldModel) -> None:
    question, image = held.hold(), "data:image/png;base64,iVBORw0KGgo="
    parts = [{"type": "input_text", "text": question.question}, {"type": "input_image", "image_url": image}]
    question.end("A dot.")
    given: Any = [{"role": "user", "content": parts}]
    made = openai_client.beta.agents.sessions.create(agent=agent(model="held/held"), environment=NONE, input=given)
    talk = Talk(openai_client, made.id)
    talk.until("idle")
    assert [part.to_dict() for part in talk.items()[0].content] == parts
    assert question.asked[0][-1]["content"][1]["image_url"]["url"] == image
    refused = {"type": "input_image", "image_url": "file:///etc/passwd"}
    with pytest.raises(BadRequestError):
        talk.send({"type": "agent.session.input.message", "input": [{"role": "user", "content": [refused]}]})


def test_a_failed_turn_leaves_the_session_usable(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say One.")
    talk.until("idle")
    with talk.watched() as watcher:
        talk.send(message(script("fail 429 too much")))
        events = watcher.until("idle")
    assert kinds(events)[-3:] == ["agent.session.turn.failed", "error", "agent.session.idle"]
    assert talk.turns()[-1].error.code == "rate_limit_exceeded"
    with talk.sessions.stream(talk.id, input=script("say Again.")) as stream:
        assert stream.get_final_result().output_text == "Again."


# --------------------------------------------------------------------------------------------- tools


def test_a_function_waits_and_is_answered(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Noon.", agent=agent(TIME))
    [action] = talk.until("requires_action").required_actions
    assert (action.type, action.name, action.arguments) == ("function_call", "get_time", {"zone": "UTC"})
    [turn] = talk.turns()
    assert (turn.status, action.turn_id) == ("waiting", turn.id)
    with talk.watched() as watcher:
        talk.send(result(action, "noon"))
        events = watcher.until("idle")
    assert short(events)[:3] == ["item.added", "item.done", "in_progress"]
    assert [(item.type, item.status) for item in talk.items()] == [
        ("message", "completed"),
        ("function_call", "completed"),
        ("function_call_output", "completed"),
        ("message", "completed"),
    ]
    assert len(talk.turns()) == 1


def test_a_failure_reaches_the_model(openai_client: OpenAI, held: HeldModel) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Sad.", agent=agent(TIME))
    [action] = talk.until("requires_action").required_actions
    talk.send(result(action, None, success=False, error="no clock"))
    talk.until("idle")
    output = talk.items()[2]
    assert (output.status, output.error) == ("failed", "no clock")
    assert talk.items()[1].status == "failed"


def test_two_calls_are_answered_one_by_one(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, 'call get_time {"zone": "CET"}', "then", "say Both.", agent=agent(TIME))
    first, second = talk.until("requires_action").required_actions
    talk.send(result(second, "one"))
    session = talk.now()
    assert (session.status, session.required_actions) == ("requires_action", [first])
    talk.send(result(second, "one"))  # the same again changes nothing
    with pytest.raises(ConflictError):
        talk.send(result(second, "two"))
    talk.send(result(first, "twelve"))
    talk.until("idle")
    assert [item.output for item in talk.items() if item.type == "function_call_output"] == ["twelve", "one"]
    talk.send(result(first, "twelve"))
    with pytest.raises(ConflictError):
        talk.send(result(first, "thirteen"))


def test_an_unknown_call_is_refused_in_the_words_that_the_client_waits_for(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Noon.", agent=agent(TIME))
    [action] = talk.until("requires_action").required_actions
    action.call_id = "call_unknown"
    with pytest.raises(BadRequestError) as refused:
        talk.send(result(action))
    assert refused.value.code == "invalid_request_error"
    body: Any = refused.value.body
    assert body["message"] == "Unknown pending tool call: call_unknown"


def test_handlers_answer_at_once(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say Hi.", agent=agent(TIME))
    talk.until("idle")
    handlers: Any = {"get_time": lambda arguments: f"noon in {arguments['zone']}"}
    for _ in range(deep(10, 100)):
        with talk.sessions.stream(talk.id, input=script(CALL, "then", "say Noon."), tool_handlers=handlers) as stream:
            assert stream.get_final_result().output_text == "Noon."


def test_a_handler_that_raises_is_a_failed_call(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say Hi.", agent=agent(TIME))
    talk.until("idle")

    def broken(arguments: Any) -> str:
        raise RuntimeError("secret")

    with talk.sessions.stream(
        talk.id, input=script(CALL, "then", "say Noon."), tool_handlers={"get_time": broken}
    ) as stream:
        assert stream.get_final_result().output_text == "Noon."
    output = next(item for item in talk.items() if item.type == "function_call_output")
    assert output.status == "failed"
    assert "secret" not in json.dumps(output.to_dict())


class Kettle(BaseModel):
    colour: str
    litres: float


def test_an_output_type_is_parsed(openai_client: OpenAI) -> None:
    sessions: Any = openai_client.beta.agents.sessions
    with sessions.create(
        agent={"model": MODEL}, environment=NONE, input="A kettle", output_type=Kettle, stream=True
    ) as stream:
        list(stream)
    talk = Talk(openai_client, openai_client.beta.agents.sessions.list(limit=1).data[0].id)
    with talk.sessions.stream(talk.id, input="Another kettle", output_type=Kettle) as stream:
        parsed = stream.get_final_result().output_parsed
    assert isinstance(parsed, Kettle)


# ------------------------------------------------------------------------------------- idempotency


def test_a_key_is_taken_once(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say One.")
    talk.until("idle")
    for _ in range(2):
        talk.send(message(script("say Two.")), idempotency_key="k" * 256)
        talk.until("idle")
    assert len(talk.turns()) == 2
    with pytest.raises(ConflictError):
        talk.send(message(script("say Three.")), idempotency_key="k" * 256)
    with pytest.raises(BadRequestError):
        talk.send(message(script("say Three.")), idempotency_key="k" * 257)


def test_a_session_is_created_once_for_a_key(openai_client: OpenAI) -> None:
    given: Any = {"agent": agent(), "environment": NONE, "input": script("say One.")}
    key: Any = {"Idempotency-Key": f"of {uuid.uuid4()}"}
    sessions = openai_client.beta.agents.sessions
    first = sessions.create(**given, extra_headers=key)
    assert sessions.create(**given, extra_headers=key).id == first.id
    with pytest.raises(ConflictError):
        sessions.create(**{**given, "input": "Other"}, extra_headers=key)
    assert sessions.create(**given).id != first.id


# ------------------------------------------------------------------------------------------- cancel


def test_a_turn_is_cancelled_while_it_streams(openai_client: OpenAI, held: HeldModel) -> None:
    question = held.hold()
    talk = Talk.begin(openai_client, "say Hi.", agent=agent(model="held/held") | {"model": MODEL})
    talk.until("idle")
    talk.sessions.update(talk.id, agent={"model": "held/held"})
    with talk.watched() as watcher:
        talk.send(message(question.question))
        question.say("Once upon")
        watcher.until("turn.output_text.delta")
        talk.send(CANCEL)
        events = watcher.until("idle")
    assert kinds(events)[-2:] == ["agent.session.turn.cancelled", "agent.session.idle"]
    last = talk.items()[-1]
    assert (last.status, said(last)) == ("incomplete", "Once upon")
    question.end()


def test_a_waiting_turn_is_cancelled(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Noon.", agent=agent(TIME))
    talk.until("requires_action")
    with pytest.raises(ConflictError):
        talk.sessions.delete(talk.id)
    talk.send(CANCEL)
    session = talk.until("idle")
    assert session.required_actions == []
    assert talk.turns()[0].status == "cancelled"
    talk.send(CANCEL)  # nothing runs: no effect
    removed = talk.sessions.delete(talk.id)
    assert (removed.id, removed.object) == (talk.id, "agent.session.deleted")
    with pytest.raises(NotFoundError):
        talk.now()


def test_what_follows_a_cancellation_begins_a_turn(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Noon.", agent=agent(TIME))
    talk.until("requires_action")
    talk.send(CANCEL, message(script("say Other.")))
    talk.until("idle")
    assert [turn.status for turn in talk.turns()] == ["cancelled", "completed"]
    assert talk.texts()[-1] == "Other."


# ----------------------------------------------------------------------------------------- steering


def test_a_message_joins_the_turn_that_runs(openai_client: OpenAI, held: HeldModel, caller: Caller) -> None:
    first, second = held.hold(), held.hold()
    talk = Talk.begin(openai_client, text=first.question, agent=agent(model="held/held"))
    first.say("One")
    eventually(lambda: first.asked)
    with talk.watched() as watcher:
        talk.send(message(second.question))
        first.end(".")
        second.end("Two.")
        events = watcher.until("idle")
    assert len(talk.turns()) == 1
    assert talk.texts() == [first.question, "One.", second.question, "Two."]
    [asked] = second.asked
    assert [one["content"] for one in asked[1:]] == [first.question, "One.", second.question]
    joined = [event.item for event in events if event.type.endswith("item.added") and event.output_index is None]
    assert joined[-1].id == talk.items()[2].id
    page = caller.get(f"/turns/{uuid.UUID(talk.turns()[0].id.removeprefix('turn_'))}/").body.decode()
    assert "sent while the turn ran" in page
    assert second.question in page


def test_a_message_to_a_waiting_turn_is_heard_when_it_goes_on(openai_client: OpenAI, held: HeldModel) -> None:
    question = held.hold()
    talk = Talk.begin(openai_client, CALL, agent=agent(TIME))
    [action] = talk.until("requires_action").required_actions
    talk.sessions.update(talk.id, agent={"model": "held/held"})
    talk.send(message(script("say By the way.")))
    assert talk.now().status == "requires_action"
    question.end("unused")
    talk.send(result(action, "noon"))
    talk.until("idle")
    assert len(talk.turns()) == 1
    assert talk.texts()[1:] == ["!script\nsay By the way.", "By the way."]


def test_a_message_that_comes_too_late_begins_a_turn(openai_client: OpenAI) -> None:
    """Many messages at once: each is answered, in this turn or the next."""
    talk = Talk.begin(openai_client, "say Go.")
    for number in range(20):
        talk.send(message(script(f"say {number}")))
    eventually(lambda: talk.now().status == "idle" and sum(text.startswith("!script") for text in talk.texts()) == 21)
    said_by_user = [text for text in talk.texts() if text.startswith("!script")]
    assert said_by_user == [script("say Go."), *(script(f"say {number}") for number in range(20))]


# ------------------------------------------------------------------------------------------- lists


def test_sessions_are_filtered_and_paged(openai_client: OpenAI) -> None:
    made = openai_client.beta.agents.create(model=MODEL)
    talks = [
        Talk.begin(openai_client, "say Hi.", agent_id=made.id, agent={}, metadata={"half": str(number % 2)})
        for number in range(4)
    ]
    sessions = openai_client.beta.agents.sessions
    of_agent = [one.id for one in sessions.list(agent_id=made.id, limit=1, order="asc")]
    assert of_agent == [talk.id for talk in talks]
    odd = [one.id for one in sessions.list(agent_id=made.id, metadata={"half": "1"})]
    assert odd == [talks[3].id, talks[1].id]
    assert sessions.list(metadata={"half": "none"}).data == []
    changed = sessions.update(talks[0].id, metadata={"half": "none"})
    assert changed.metadata == {"half": "none"}
    assert [one.id for one in sessions.list(agent_id=made.id, metadata={"half": "none"})] == [talks[0].id]
    assert sessions.update(talks[0].id, metadata=None).metadata == {}


def test_items_and_turns_are_paged_in_both_orders(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, CALL, "then", "say Noon.", agent=agent(TIME))
    [action] = talk.until("requires_action").required_actions
    talk.send(result(action, "noon"))
    talk.until("idle")
    talk.send(message(script("think Hm.", "say More.")))
    talk.until("idle")
    items = talk.items()
    assert [item.type for item in items] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
        "reasoning",
        "message",
    ]
    assert talk.items(limit=1) == items
    assert list(talk.sessions.items.list(talk.id, limit=2)) == items[::-1]
    first, second = talk.turns()
    assert list(talk.sessions.turns.list(talk.id, limit=1)) == [second, first]
    assert talk.sessions.turns.retrieve(first.id, session_id=talk.id) == first
    of_second = list(talk.sessions.turns.items.list(second.id, session_id=talk.id, order="asc", limit=2))
    assert of_second == items[4:]
    with pytest.raises(BadRequestError):
        talk.sessions.items.list(talk.id, after="msg_unknown")


def test_traces_are_otlp_and_there_are_no_subagents_and_artifacts(openai_client: OpenAI) -> None:
    talk = Talk.begin(openai_client, "say Hi.")
    talk.until("idle")
    [turn], [trace] = talk.turns(), list(talk.sessions.traces.list(talk.id))
    assert (trace.id, trace.session_id) == (turn.id, talk.id)
    spans: Any = trace.otlp["resourceSpans"]
    assert [span["name"] for span in spans[0]["scopeSpans"][0]["spans"]][-1] == f"chat {MODEL}"
    assert list(talk.sessions.subagents.list(talk.id)) == []
    assert list(talk.sessions.artifacts.list(talk.id)) == []
    with pytest.raises(NotFoundError):
        talk.sessions.subagents.retrieve("sub_1", session_id=talk.id)


# ------------------------------------------------------------------------------------------- absent


@pytest.mark.parametrize("path", ["agents/environments", "vaults", "vaults/v_1/credentials"])
def test_what_is_absent_is_refused_by_name(caller: Caller, path: str) -> None:
    answer = caller.get(f"/v1/{path}")
    assert answer.status == 400
    assert answer.json["error"]["code"] == "unsupported_resource"
    assert (path.split("/")[1] if path.startswith("agents") else "vaults") in answer.json["error"]["message"]
