"""Agents as models of responses: what the agent is and what the request adds, in the log and over several legs."""

from __future__ import annotations

import uuid
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, Talk, script, tool
from tests.support.live.process import ServerProcess, eventually
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server


@pytest.fixture
def name() -> str:
    return f"agent of {uuid.uuid4()}"


def turns_of(caller: Caller, response: Any) -> list[Any]:
    """The turns of a response's session, oldest first."""
    [row] = caller.get(f"/v1/logs/responses?q=id:{response.id}").json["data"]
    return list(caller.get(f"/v1/logs/turns?order=asc&q=session:{row['session_id']}").json["data"])


OWN = {"type": "function", "name": "own", "parameters": {"type": "object", "properties": {}}}


def test_a_response_is_a_turn_of_the_agent(openai_client: OpenAI, caller: Caller, name: str) -> None:
    agent = Talk(caller, name=name, toolgroups=["builtin::demo"]).agent
    message = script('call get_weather {"city": "Bern"}', "then", "say It is cold.")
    first = openai_client.responses.create(model=f"agent/{name}", input=message)
    assert (first.output_text, first.model, first.status) == ("It is cold.", f"agent/{name}", "completed")
    assert openai_client.responses.retrieve(first.id).output_text == "It is cold."

    with openai_client.responses.stream(
        model=f"agent/{agent}", input=script("say And warm."), previous_response_id=first.id
    ) as stream:
        texts = [event.delta for event in stream if event.type == "response.output_text.delta"]
        second = stream.get_final_response()
    assert "".join(texts) == second.output_text == "And warm."
    rows = turns_of(caller, second)
    assert [(row["agent_id"], row["status"], row["model"]) for row in rows] == [
        (agent, "completed", "scripted/fast")
    ] * 2
    assert [row["counts"]["tools"] for row in rows] == [1, 0]
    assert caller.get(f"/turns/{rows[0]['id']}/").status == 200
    assert caller.get(f"/sessions/{rows[0]['session_id']}/").status == 200
    assert caller.get(f"/v1/agents/{agent}/session/{rows[0]['session_id']}").status == 200


def test_the_model_gets_the_agents_instructions_first(guarded: ServerProcess, lab: ModelLab) -> None:
    question = f"question {uuid.uuid4()}"
    sampling = {"strategy": {"type": "top_p", "temperature": 0.25, "top_p": 0.5}}
    agent = Talk(Caller(guarded.port), model="lab/chat", instructions="You are kind.", sampling_params=sampling).agent
    with OpenAI(base_url=f"{guarded.base}/v1", api_key="none", max_retries=0) as client:
        answer = client.responses.create(
            model=f"agent/{agent}", input=question, instructions="Speak German.", top_p=0.75
        )
        assert answer.output_text == f"You said: {question}"
        unstored = client.responses.create(model=f"agent/{agent}", input=question, store=False)
        assert unstored.output_text == f"You said: {question}"
    sent = lab.sent("/chat/completions", question)
    assert sent["messages"][0]["content"] in ("You are kind.\n\nSpeak German.", "You are kind.")
    assert sent["temperature"] == 0.25


def test_its_instructions_and_tools_are_counted(openai_client: OpenAI, caller: Caller, name: str) -> None:
    Talk(caller, name=name, instructions="Be kind and brief.")
    counted = openai_client.responses.input_tokens.count(model=f"agent/{name}", input="My cat is Ada.")
    assert counted.input_tokens == 8


def test_tools_of_both_are_called(openai_client: OpenAI, caller: Caller, name: str) -> None:
    agent = Talk(caller, name=name, toolgroups=["builtin::demo"], client_tools=[tool("ask_user", "question")]).agent
    lines = ["call own {}", "then", 'call ask_user {"question": "?"}', "then", 'call get_weather {"city": "X"}', "then"]
    options: Any = {"model": f"agent/{name}", "tools": [OWN]}
    answer = openai_client.responses.create(input=script(*lines, "say Done."), **options)
    called = []
    while answer.output[-1].type == "function_call":
        call = answer.output[-1]
        called.append(call.name)
        output: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "red"}]
        answer = openai_client.responses.create(input=output, previous_response_id=answer.id, **options)
    assert (called, answer.output_text) == (["own", "ask_user"], "Done.")
    [row] = turns_of(caller, answer)
    assert (row["agent_id"], row["counts"]["tools"]) == (agent, 3)


def test_a_waiting_call_is_answered_elsewhere(openai_client: OpenAI, caller: Caller, name: str) -> None:
    """The turn goes on as it was asked: by a response, with the tools of its request."""
    Talk(caller, name=name)
    message = script("call own {}", "then", "call own {}", "then", "say Done.")
    options: Any = {"model": f"agent/{name}", "tools": [OWN], "input": message}
    waiting = openai_client.responses.create(**options)
    [row] = turns_of(caller, waiting)
    assert row["status"] == "awaiting_input"
    for _ in range(2):
        query = f"turn:{row['id']} status:awaiting_input".replace(" ", "%20")
        [pending] = caller.get(f"/v1/logs/steps?q={query}").json["data"]
        assert pending["name"] == "own"
        answered(caller, row["id"])
    [row] = turns_of(caller, waiting)
    assert (row["status"], row["output_preview"]) == ("completed", "Done.")


def answered(caller: Caller, turn: str) -> None:
    """Answer the one call that a turn waits for."""
    read = called(caller, "read_turn", turn_id=turn)
    call_id = read.split("call_id ")[1].split(":")[0]
    called(caller, "answer_calls", turn_id=turn, answers=[{"call_id": call_id, "content": "red"}])


def called(caller: Caller, tool_name: str, **arguments: Any) -> str:
    params = {"name": tool_name, "arguments": arguments}
    answer = caller.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).json["result"]
    assert not answer.get("isError"), answer
    return str(answer["content"][0]["text"])


def test_a_response_goes_on_with_its_agent_when_its_process_dies(own_server: ServerProcess, name: str) -> None:
    """With the agent that it began with, though its name has become another's as well."""
    caller = Caller(own_server.port)
    agent = Talk(caller, name=name, model="scripted/demo", toolgroups=["builtin::demo"]).agent
    answer = " ".join(map(str, range(300)))
    message = script('call get_weather {"city": "Oslo"}', "then", f"say {answer}")
    with OpenAI(base_url=f"{own_server.base}/v1", api_key="none", max_retries=0) as client:
        begun = client.responses.create(model=f"agent/{name}", input=message, background=True)
        eventually(lambda: caller.get("/v1/logs/steps?q=type:tool%20status:completed").json["data"])
        own_server.kill()
        Talk(Caller(own_server.start(caller.port).port), name=name)
        done = eventually(
            lambda: (now := client.responses.retrieve(begun.id)).status not in ("queued", "in_progress") and now
        )
    assert (done.status, done.output_text) == ("completed", answer)
    [row] = turns_of(caller, done)
    assert (row["agent_id"], row["counts"]["tools"]) == (agent, 1)


def test_names_lead_to_one_agent_or_to_none(openai_client: OpenAI, caller: Caller, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        openai_client.responses.create(model=f"agent/{name}", input="hello")
    assert missing.value.code == "model_not_found"
    for _ in range(2):
        Talk(caller, name=name, toolgroups=["builtin::demo"])
    with pytest.raises(openai.BadRequestError) as ambiguous:
        openai_client.responses.create(model=f"agent/{name}", input="hello")
    assert ambiguous.value.code == "agent_ambiguous"
    agent = Talk(caller, toolgroups=["builtin::demo"]).agent
    doubled: Any = [{**OWN, "name": "get_weather"}]
    with pytest.raises(openai.BadRequestError, match="two tools named 'get_weather'"):
        openai_client.responses.create(model=f"agent/{agent}", input="hello", tools=doubled)
