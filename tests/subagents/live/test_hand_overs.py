"""A turn that is handed over goes on as the other agent, to its end: over answers of its client, on another process, in
forks, and in the other APIs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.subagents.calling import calling
from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server

FRONT, DESK = "You are the front.", "You are the desk."


def front(caller: Caller, **desk: Any) -> Talk:
    """An agent that may hand over to another, the desk."""
    other = Talk(caller, name="desk", model="held/held", instructions=DESK, **desk)
    groups = calling({"agent": other.agent, "hand_over": True})
    return Talk(caller, name="front", model="held/held", instructions=FRONT, toolgroups=groups)


def told_to_be(question: Held) -> list[str]:
    """The instructions of each inference."""
    return [messages[0]["content"] for messages in question.asked]


def ended(talk: Talk, turn: str) -> Any:
    """The turn, once it is over."""
    return eventually(lambda: (told := talk.turn(turn))["status"] not in ("queued", "in_progress") and told)


def agents_of(talk: Talk, turn: str) -> list[str]:
    """The agents of the steps of a turn, in order."""
    steps = talk.caller.get(f"/v1/logs/steps?q=turn:{turn}&limit=100").json["data"]
    return [step["agent_name"] for step in sorted(steps, key=lambda step: step["number"])]


def test_the_other_agent_goes_on_with_the_conversation(own_server: ServerProcess, held: HeldModel) -> None:
    talk = front(Caller(own_server.port))
    question = held.hold()
    question.call("transfer_to_desk", '{"reason": "an order"}')
    question.end("On its ", "way.")
    with talk.saying(question.question) as stream:
        frames = list(stream)
    turn = frames[-1].payload["turn"]
    assert turn["output_message"]["content"] == "On its way."
    assert told_to_be(question) == [FRONT, DESK]
    [call] = [step for step in turn["steps"] if step["step_type"] == "tool_execution"]
    assert call["tool_calls"][0]["tool_name"] == "transfer_to_desk"
    assert "You are desk now" in question.asked[1][-1]["content"]
    assert [message["role"] for message in question.asked[1]] == ["system", "user", "assistant", "tool"]
    assert agents_of(talk, turn["turn_id"]) == ["front", "front", "desk"]

    later = held.hold()
    later.end("Again.")
    assert talk.say(later.question).json["output_message"]["content"] == "Again."
    assert told_to_be(later) == [FRONT]


def test_it_goes_on_after_answers_of_its_client(own_server: ServerProcess, held: HeldModel) -> None:
    talk = front(Caller(own_server.port), client_tools=[tool("look_up", "order")])
    question = held.hold()
    question.call("transfer_to_desk")
    question.call("look_up", '{"order": "7"}')
    turn = talk.say(question.question).json
    [call] = turn["output_message"]["tool_calls"]
    assert call["tool_name"] == "look_up"
    question.end("It is here.")
    turn = talk.answer(turn["turn_id"], answer_to(call, "here")).json
    assert turn["output_message"]["content"] == "It is here."
    assert agents_of(talk, turn["turn_id"]) == ["front", "front", "desk", "desk", "desk"]
    assert told_to_be(question) == [FRONT, DESK, DESK]


def test_it_goes_on_when_its_process_is_lost(own_server: ServerProcess, held: HeldModel) -> None:
    talk = front(Caller(own_server.port))
    question = held.hold()
    question.call("transfer_to_desk")
    turn = talk.begin(question.question)
    eventually(lambda: len(question.asked) == 2)
    own_server.kill()
    question.end()
    talk.caller.port = own_server.start().port
    eventually(lambda: len(question.asked) == 3)
    question.end("All is well.")
    assert ended(talk, turn)["output_message"]["content"] == "All is well."
    assert told_to_be(question) == [FRONT, DESK, DESK]
    assert agents_of(talk, turn)[:3] == ["front", "front", "desk"]
    assert agents_of(talk, turn)[-1] == "desk"


def test_a_fork_of_what_it_said_is_asked_of_it(own_server: ServerProcess, held: HeldModel) -> None:
    talk = front(Caller(own_server.port))
    question = held.hold()
    question.call("transfer_to_desk")
    question.end("First.")
    turn = talk.say(question.question).json
    last = turn["steps"][-1]["step_id"]
    question.end("Second.")
    forked = talk.caller.post(f"{talk.path}/turn/{turn['turn_id']}/fork", {"step": last, "stream": False})
    assert forked.status == 200, forked.body
    assert ended(talk, forked.json["turn_id"])["output_message"]["content"] == "Second."
    assert agents_of(talk, forked.json["turn_id"]) == ["front", "front", "desk"]
    assert told_to_be(question) == [FRONT, DESK, DESK]


def test_agents_that_are_models_of_responses_hand_over_too(own_server: ServerProcess, held: HeldModel) -> None:
    talk = front(Caller(own_server.port))
    question = held.hold()
    question.call("transfer_to_desk")
    question.call("weather", "{}")
    body: Any = {"model": f"agent/{talk.agent}", "tools": [{"type": "function", "name": "weather", "parameters": {}}]}
    first = talk.caller.post("/v1/responses", {**body, "input": question.question}).json
    call = first["output"][-1]
    assert (call["type"], call["name"]) == ("function_call", "weather")
    question.end("Sunny.")
    answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}
    second = talk.caller.post("/v1/responses", {**body, "previous_response_id": first["id"], "input": [answer]}).json
    assert second["output"][-1]["content"][0]["text"] == "Sunny."
    assert told_to_be(question) == [FRONT, DESK, DESK]


def test_a_turn_without_a_client_has_no_tools_of_one_after_it(own_server: ServerProcess, held: HeldModel) -> None:
    caller = Caller(own_server.port)
    talk = front(caller, client_tools=[tool("look_up", "order")])
    chief = Talk(caller, name="chief", toolgroups=calling(talk.agent))
    question = held.hold()
    question.call("transfer_to_desk")
    question.call("look_up")
    question.end("Without it.")
    turn = chief.say(script(f'call front {{"input": "{question.question}"}}', "then", "say Told.")).json
    [call] = [step for step in turn["steps"] if step["step_type"] == "tool_execution"]
    assert call["tool_responses"][0]["content"] == "Without it."
    assert "Unknown tool `look_up`" in question.asked[2][-1]["content"]
