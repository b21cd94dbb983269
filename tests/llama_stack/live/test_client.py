"""The official client, llama-stack-client 0.2.12 and its agents library, unmodified, against a server."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from llama_stack_client import (
    AsyncLlamaStackClient,
    BadRequestError,
    ConflictError,
    DefaultHttpxClient,
    LlamaStackClient,
    NotFoundError,
)
from llama_stack_client.lib.agents.agent import Agent, AsyncAgent
from llama_stack_client.lib.agents.event_logger import EventLogger as AgentEventLogger
from llama_stack_client.lib.agents.react.agent import ReActAgent

from tests.support.live.caller import script, user
from tests.support.live.held_model import HeldModel
from tests.support.live.library import asking, chunks_of, opened_client, turn_of
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

NOBODY = "00000000-0000-8000-8000-000000000000"
times_asked: list[str] = []


def get_time(zone: str) -> str:
    """The time somewhere.

    :param zone: where
    """
    times_asked.append(zone)
    return f"noon in {zone}"


@pytest.fixture
def client(server: ServerProcess) -> Iterator[LlamaStackClient]:
    times_asked.clear()
    with opened_client(server.base) as client:
        yield client


def make_agent(client: Any, **config: Any) -> Agent:
    """An agent of the library, and a session in it."""
    given = {"model": "scripted/fast", "instructions": "Be brief.", "enable_session_persistence": True, **config}
    agent = Agent(client, **given)
    agent.create_session("a session")
    return agent


def ask(agent: Agent, *lines: str, **more: Any) -> Any:
    """A turn as an object, the client's tools run by the library."""
    text = script(*lines) if len(lines) > 1 or lines[0].startswith("say ") else lines[0]
    return turn_of(agent, text, agent.sessions[-1], **more)


def stored_turns(agent: Agent) -> list[Any]:
    session = agent.client.agents.session.retrieve(agent.sessions[-1], agent_id=agent.agent_id)
    return list(session.turns)


def step_types(turn: Any) -> list[str]:
    return [step.step_type for step in turn.steps]


# -------------------------------------------------------------------------------------------- turns


def test_a_turn_streams_its_answer(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    chunks = chunks_of(agent, script("say Hello there, world."), agent.sessions[0])
    payloads: list[Any] = [chunk.event.payload for chunk in chunks]

    texts = [payload.delta.text for payload in payloads if payload.event_type == "step_progress"]
    assert texts == ["Hello", " there,", " world."]
    assert payloads[-1].event_type == "turn_complete"
    assert payloads[-1].turn.output_message.content == "Hello there, world."
    assert payloads[-1].turn.output_message.stop_reason == "end_of_turn"


def test_the_library_s_logger_tells_the_turn(client: LlamaStackClient) -> None:
    agent = make_agent(client, tools=[get_time, "builtin::demo"], input_shields=["demo_guard"])
    lines = ["say Hm", 'call get_weather {"city": "Paris"}', 'call get_time {"zone": "UTC"}', "then", "say Noon."]
    stream = chunks_of(agent, script(*lines), agent.sessions[0])
    told = [str(log) for log in AgentEventLogger().log(stream)]

    assert "shield_call> No Violation" in told
    assert "tool_execution> Tool:get_weather Args:{'city': 'Paris'}" in told
    assert "tool_execution> Tool:get_time Args:{'zone': 'UTC'}" in told
    assert 'tool_execution> Tool:get_time Response:"noon in UTC"' in told
    assert told.index("Hm") < told.index("Noon.")


def test_a_turn_not_streamed_is_the_stored_one(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    turn = ask(agent, "say Hello.")

    assert turn.output_message.content == "Hello."
    found = client.agents.turn.retrieve(turn.turn_id, agent_id=agent.agent_id, session_id=agent.sessions[0])
    assert found == turn
    assert stored_turns(agent) == [turn]
    plain = client.agents.turn.create(
        agent.sessions[0], agent_id=agent.agent_id, messages=[user(script("say Plain."))], stream=False
    )
    assert plain.output_message.content == "Plain."


def test_a_session_remembers(client: LlamaStackClient, held: HeldModel) -> None:
    agent = make_agent(client, model="held/held", tools=[get_time])
    first, second = held.hold(), held.hold()
    first.end("My name is Ann.")
    second.end("Ann.")
    ask(agent, first.question)
    ask(agent, second.question)

    [messages] = second.asked
    assert [(message["role"], message["content"]) for message in messages] == [
        ("system", "Be brief."),
        ("user", first.question),
        ("assistant", "My name is Ann."),
        ("user", second.question),
    ]


def test_documents_and_toolgroups_of_a_turn(client: LlamaStackClient, held: HeldModel) -> None:
    agent = make_agent(client, model="held/held")
    question = held.hold()
    question.end("Read.")
    document = {"content": "The shop is closed on Sundays.", "mime_type": "text/plain"}
    ask(agent, question.question, documents=[document])
    weather = ["call get_weather {}", "then", "say Seen."]
    other = make_agent(client)
    used, unused = ask(other, *weather, toolgroups=["builtin::demo/get_weather"]), ask(other, *weather)

    assert "closed on Sundays" in question.asked[0][-1]["content"]
    assert [step.tool_responses[0].content[:8] for step in (used.steps[1], unused.steps[1])] == ['{"city":', "Unknown "]


# -------------------------------------------------------------------------------------- client tools


def test_it_runs_the_clients_tool(client: LlamaStackClient) -> None:
    turn = ask(make_agent(client, tools=[get_time]), 'call get_time {"zone": "UTC"}', "then", "say It is noon.")

    assert times_asked == ["UTC"]
    assert step_types(turn) == ["inference", "tool_execution", "inference"]
    assert turn.steps[1].tool_calls[0].arguments == {"zone": "UTC"}
    assert turn.steps[1].tool_responses[0].content == '"noon in UTC"'
    assert turn.output_message.content == "It is noon."


def test_two_calls_of_one_message_are_one_step(client: LlamaStackClient) -> None:
    calls = ['call get_time {"zone": "UTC"}', 'call get_time {"zone": "CET"}']
    turn = ask(make_agent(client, tools=[get_time]), *calls, "then", "say Noon twice.")

    assert times_asked == ["UTC", "CET"]
    assert step_types(turn) == ["inference", "tool_execution", "inference"]
    asked, answered = turn.steps[1].tool_calls, turn.steps[1].tool_responses
    assert [call.call_id for call in asked] == [response.call_id for response in answered]
    assert [response.content for response in answered] == ['"noon in UTC"', '"noon in CET"']


def test_a_tool_nobody_has_is_answered_for(client: LlamaStackClient) -> None:
    turn = ask(make_agent(client, tools=[get_time]), "call get_moon {}", "then", "say No moon.")

    assert turn.steps[1].tool_responses[0].content == "Unknown tool `get_moon` was called."
    assert turn.output_message.content == "No moon."


def test_a_failing_tool_is_told_to_the_model(client: LlamaStackClient) -> None:
    turn = ask(make_agent(client, tools=[get_time]), 'call get_time {"place": 1}', "then", "say So be it.")

    assert turn.steps[1].tool_responses[0].content.startswith("Error when running tool")
    assert turn.output_message.content == "So be it."


def test_an_endless_loop_is_capped(client: LlamaStackClient) -> None:
    lines = ['call get_time {"zone": "UTC"}', "then"] * 20
    turn = ask(make_agent(client, tools=[get_time], max_infer_iters=3), *lines)

    assert step_types(turn) == ["inference", "tool_execution"] * 2 + ["inference"]
    assert turn.output_message.stop_reason == "end_of_turn"
    assert len(times_asked) == 2


def test_a_react_agent_runs_calls_the_server_never_saw(client: LlamaStackClient, held: HeldModel) -> None:
    agent = ReActAgent(client, model="held/held", tools=[get_time], json_response_format=True)
    agent.create_session("react")
    question = held.hold()
    action = {"tool_name": "get_time", "tool_params": [{"name": "zone", "value": "UTC"}]}
    question.end(json.dumps({"thought": "Hm.", "action": action, "answer": None}))
    question.end(json.dumps({"thought": "Ah.", "action": None, "answer": "Noon."}))
    turn = ask(agent, question.question)

    assert times_asked == ["UTC"]
    assert json.loads(turn.output_message.content)["answer"] == "Noon."
    assert step_types(turn) == ["inference", "tool_execution", "inference"]
    assert "noon in UTC" in question.asked[1][-1]["content"]


# ---------------------------------------------------------------------------------- agents, sessions


def test_sessions_are_made_read_and_deleted(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    turns = [ask(agent, "say One."), ask(agent, "say Two.")]
    where: dict[str, Any] = {"agent_id": agent.agent_id}
    session = client.agents.session.retrieve(agent.sessions[0], **where)
    chosen = client.agents.session.retrieve(agent.sessions[0], **where, turn_ids=[turns[1].turn_id])

    assert (session.session_id, session.session_name) == (agent.sessions[0], "a session")
    assert [turn.turn_id for turn in session.turns] == [turn.turn_id for turn in turns]
    assert chosen.turns == [turns[1]]
    step = turns[0].steps[0]
    place = {**where, "session_id": agent.sessions[0], "turn_id": turns[0].turn_id}
    assert client.agents.steps.retrieve(step.step_id, **place).step == step
    client.agents.session.delete(agent.sessions[0], **where)
    with pytest.raises(NotFoundError, match="not found"):
        client.agents.session.retrieve(agent.sessions[0], **where)


def test_an_agent_is_deleted_with_its_sessions(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    client.agents.delete(agent.agent_id)

    with pytest.raises(NotFoundError):
        client.agents.session.retrieve(agent.sessions[0], agent_id=agent.agent_id)
    with pytest.raises(NotFoundError):
        client.agents.session.create(agent.agent_id, session_name="another")


# ------------------------------------------------------------------------------------------- errors


def test_errors_have_their_classes(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    with pytest.raises(NotFoundError, match="not found"):
        client.agents.session.retrieve(NOBODY, agent_id=agent.agent_id)
    with pytest.raises(NotFoundError, match="no/such/model"):
        client.models.retrieve("no/such/model")
    with pytest.raises(BadRequestError, match="no::such"):
        make_agent(client, tools=["no::such"])
    with pytest.raises(BadRequestError, match="model"):
        client.agents.create(agent_config={"model": None, "instructions": "x"})  # type: ignore[typeddict-item]  # no model is what is wrong


def test_a_failed_turn_is_told_with_its_cause(client: LlamaStackClient) -> None:
    agent = make_agent(client)
    with pytest.raises(RuntimeError, match="overloaded"):
        ask(agent, "say This much", "fail 503 overloaded")

    gc.collect()  # the stream that the library has left
    [turn] = stored_turns(agent)
    assert turn.steps[0].api_model_response.content == "This much"
    assert ask(agent, "say Again.").output_message.content == "Again."


def test_a_busy_session_is_not_asked_again(client: LlamaStackClient, held: HeldModel) -> None:
    agent, question = make_agent(client, model="held/held"), held.hold()
    running = chunks_of(agent, question.question, agent.sessions[0])
    next(running)
    with pytest.raises(ConflictError) as busy:
        ask(agent, "Me too!")
    question.end("Done.")

    assert busy.value.response.request.headers["x-stainless-retry-count"] == "0"
    last = list(running)[-1].event.payload
    assert last.event_type == "turn_complete"
    assert last.turn.output_message.content == "Done."


class Cut(httpx.HTTPTransport):
    """A network that breaks off the first answer to a new turn, after the server began it."""

    cut = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if request.url.path.endswith("/turn") and not self.cut:
            self.cut = True
            response.close()
            raise httpx.ReadError("cut off", request=request)
        return response


def test_the_clients_own_retry_runs_nothing_twice(server: ServerProcess) -> None:
    network = Cut()
    with LlamaStackClient(base_url=server.base, http_client=DefaultHttpxClient(transport=network)) as client:
        agent = make_agent(client)
        turn = ask(agent, "say Once.")

        assert network.cut
        assert turn.output_message.content == "Once."
        assert stored_turns(agent) == [turn]


# -------------------------------------------------------------------------------------- async client


def test_the_async_client_does_the_same(server: ServerProcess) -> None:
    times_asked.clear()
    lines = ['call get_time {"zone": "UTC"}', "then", "say It is noon."]

    async def talk() -> tuple[list[Any], Any, Any]:
        async with AsyncLlamaStackClient(base_url=server.base) as client:
            tools: list[Any] = [get_time, {"name": "builtin::demo", "args": {"units": "metric"}}]
            as_named: Any = client  # the library names the type of the client that is not async
            agent = AsyncAgent(as_named, model="scripted/fast", instructions="Be brief.", tools=tools)
            session = await agent.create_session("a session")
            stream = await agent.create_turn(asking(script(*lines)), session)
            assert isinstance(stream, AsyncIterator)
            chunks = [chunk async for chunk in stream]
            turn = await agent.create_turn(asking(script("say More.")), session, stream=False)
            return chunks, turn, await client.agents.session.retrieve(session, agent_id=agent.agent_id)

    chunks, turn, session = asyncio.run(talk())
    assert times_asked == ["UTC"]
    assert chunks[-1].event.payload.turn.output_message.content == "It is noon."
    assert session.turns == [chunks[-1].event.payload.turn, turn]
