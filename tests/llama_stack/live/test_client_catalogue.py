"""What the official client asks of a server besides turns, and its command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from llama_stack_client import BadRequestError, LlamaStackClient, NotFoundError
from llama_stack_client.lib.agents.agent import Agent

from tests.support.live.caller import script, user
from tests.support.live.library import turn_of
from tests.support.live.process import ServerProcess
from turnlog import __version__

pytestmark = pytest.mark.server

CLI = Path(sys.executable).with_name("llama-stack-client")


@pytest.fixture
def client(server: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=server.base) as client:
        yield client


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., str]:
    """Runs the client's command line in a home of its own; returns what it prints."""

    def run(*arguments: str) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COLUMNS": "200", "NO_PROXY": "*"}
        done = subprocess.run([CLI, *arguments], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_models(client: LlamaStackClient) -> None:
    models = {model.identifier: model for model in client.models.list()}

    assert {"scripted/demo", "scripted/fast", "held/held"} <= set(models)
    assert client.models.retrieve("scripted/fast") == models["scripted/fast"]
    fast = models["scripted/fast"]
    assert (fast.provider_id, fast.provider_resource_id, fast.api_model_type) == ("scripted", "fast", "llm")
    told: Any = client.get("/v1/models/scripted/fast", cast_to=object)
    known = {"model_type": "llm", "provider_id": "scripted", "provider_resource_id": "fast"}
    assert told["custom_metadata"] == {**told["metadata"], **known}


def test_a_model_is_registered_under_another_name(client: LlamaStackClient) -> None:
    name = f"all-MiniLM-L6-v2-{uuid4()}"
    made = client.models.register(
        model_id=name, provider_id="scripted", provider_model_id="fast", metadata={"embedding_dimension": 384}
    )
    assert (made.identifier, made.provider_resource_id, made.metadata["embedding_dimension"]) == (name, "fast", 384)
    assert name in {model.identifier for model in client.models.list()}
    agent = Agent(client, model=name, instructions="")
    turn = turn_of(agent, "hello", agent.create_session("a session"))
    assert turn.output_message.content
    client.models.unregister(name)
    with pytest.raises(NotFoundError, match="not found"):
        client.models.retrieve(name)
    with pytest.raises(BadRequestError, match="provider_id"):
        client.models.register(model_id=name, provider_id="faiss")


def test_inference_without_an_agent(client: LlamaStackClient) -> None:
    messages: Any = [{"role": "system", "content": "Be brief."}, user(script("think hm", "say Hello there."))]
    whole = client.inference.chat_completion(model_id="scripted/fast", messages=messages)
    assert whole.completion_message.content == "Hello there."
    assert whole.completion_message.stop_reason == "end_of_turn"
    events = [
        chunk.event
        for chunk in client.inference.chat_completion(model_id="scripted/fast", messages=messages, stream=True)
    ]
    assert [events[0].event_type, events[-1].event_type] == ["start", "complete"]
    deltas: list[Any] = [event.delta for event in events]
    assert "".join(delta.text for delta in deltas) == "Hello there."
    assert events[-1].stop_reason == "end_of_turn"


def test_a_stream_that_cannot_begin_is_an_error(client: LlamaStackClient) -> None:
    """Rather than a stream with an error in it, which the client takes for an event."""
    with pytest.raises(NotFoundError, match="scripted has no model"):
        client.inference.chat_completion(model_id="scripted/none", messages=[user("hello")], stream=True)


def test_inference_calls_tools(client: LlamaStackClient) -> None:
    tool: Any = {
        "tool_name": "get_weather",
        "description": "Weather",
        "parameters": {"city": {"param_type": "string", "description": "where", "required": True}},
    }
    asked: dict[str, Any] = {"model_id": "scripted/fast", "tools": [tool], "tool_config": {"tool_choice": "required"}}
    messages: Any = [user("What is the weather in Paris?")]
    whole = client.inference.chat_completion(messages=messages, **asked)
    [call] = whole.completion_message.tool_calls
    assert (call.tool_name, whole.completion_message.stop_reason) == ("get_weather", "end_of_message")
    events = [chunk.event for chunk in client.inference.chat_completion(messages=messages, stream=True, **asked)]
    deltas = [event.delta for event in events if event.delta.type == "tool_call"]
    assert deltas[-1].parse_status == "succeeded"
    assert deltas[-1].tool_call == call
    assert "".join(delta.tool_call for delta in deltas[:-1]) == call.arguments_json


def test_inference_of_a_text(client: LlamaStackClient) -> None:
    text = script("say once", "length")
    assert client.inference.completion(model_id="scripted/fast", content=text).stop_reason == "out_of_tokens"
    stream = client.inference.completion(model_id="scripted/fast", content=text, stream=True)
    chunks: list[Any] = list(stream)  # the library has no type for them
    assert "".join(chunk.delta for chunk in chunks) == "once"
    assert chunks[-1].stop_reason == "out_of_tokens"


def test_embeddings(client: LlamaStackClient) -> None:
    texts = ["one", "two"]
    found = client.inference.embeddings(model_id="scripted/embed", contents=texts).embeddings
    assert [len(vector) for vector in found] == [384, 384]
    assert [one.embedding for one in client.embeddings.create(model="scripted/embed", input=texts).data] == found


def test_a_turn_is_a_span_with_its_agents_name(client: LlamaStackClient) -> None:
    """As upstream's own test looks for it."""
    name = f"test-agent-{uuid4()}"
    config: Any = {"model": "scripted/fast", "instructions": "Be kind.", "name": name, "toolgroups": []}
    agent = Agent(client, agent_config=config)
    session = agent.create_session(f"test-session-{uuid4()}")
    turn_of(agent, "Give me a sentence that contains the word: hello", session)

    def spans(key: str, value: str, *wanted: str) -> list[Any]:
        condition: Any = {"key": key, "op": "eq", "value": value}
        found = client.telemetry.query_spans(attribute_filters=[condition], attributes_to_return=list(wanted))
        return [span.attributes for span in found]

    [found] = spans("session_id", session, "input", "output", "agent_name", "agent_id", "session_id")
    assert (found["agent_name"], found["agent_id"], found["session_id"]) == (name, agent.agent_id, session)
    [named] = spans("agent_name", name, "input", "output")
    assert set(named) == {"input", "output"}
    assert "contains the word: hello" in named["input"]
    assert "hello" in named["output"].lower()
    assert spans("agent_name", f"{name}?", "input") == []


def test_tools(client: LlamaStackClient) -> None:
    tools = {tool.identifier: tool for tool in client.tools.list()}

    assert {"get_weather", "lookup_order", "web_search"} <= set(tools)
    assert client.tools.get("get_weather") == tools["get_weather"]
    assert [one.name for one in tools["get_weather"].parameters] == ["city"]
    group = client.tools.list(toolgroup_id="builtin::demo")
    assert {tool.toolgroup_id for tool in group} == {"builtin::demo"}
    assert client.tools.list(toolgroup_id="builtin::demo/get_weather") == group
    with pytest.raises(NotFoundError, match="not found"):
        client.tools.list(toolgroup_id="no::such")


def test_toolgroups(client: LlamaStackClient) -> None:
    groups = {group.identifier: group for group in client.toolgroups.list()}

    assert {"builtin::demo", "builtin::demo_policies"} <= set(groups)
    assert client.toolgroups.get("builtin::demo") == groups["builtin::demo"]


def test_shields(client: LlamaStackClient) -> None:
    [shield] = client.shields.list()

    assert shield.identifier == "demo_guard"
    assert client.shields.retrieve("demo_guard") == shield


def test_providers(client: LlamaStackClient) -> None:
    providers = client.providers.list()

    apis = {"inference", "safety", "vector_io", "files", "tool_runtime", "telemetry", "agents"}
    assert apis <= {one.api for one in providers}
    unwell = {one.provider_id: one.health for one in providers if one.health["status"] != "OK"}
    assert set(unwell) <= {"code-interpreter"}, "only the sandbox may be missing on a machine"
    assert all("bubblewrap" in str(health["message"]) for health in unwell.values())
    assert {"scripted", "held"} <= {one.provider_id for one in providers if one.api == "inference"}
    assert client.providers.retrieve("scripted").api == "inference"


def test_inspection(client: LlamaStackClient) -> None:
    assert client.inspect.health().status == "OK"
    assert client.inspect.version().version == __version__
    routes = {(one.method, one.route) for one in client.routes.list()}
    assert ("POST", "/v1/agents") in routes


def test_the_command_line_lists_models(server: ServerProcess, cli: Callable[..., str]) -> None:
    told = cli("--endpoint", server.base, "models", "list")

    assert "scripted/fast" in told
    assert "held/held" in told


@pytest.mark.slow
def test_the_command_line_remembers_its_server(server: ServerProcess, cli: Callable[..., str]) -> None:
    assert server.base in cli("configure", "--endpoint", server.base, "--api-key", "none")
    assert "0.2.12" in cli("inspect", "version")
    assert "demo_guard" in cli("shields", "list")
    assert "builtin::demo" in cli("toolgroups", "list")
    assert "scripted" in cli("providers", "list")
    assert "scripted/fast" in cli("models", "get", "scripted/fast")
    assert "builtin::demo" in cli("toolgroups", "get", "builtin::demo")
    cli("vector_dbs", "list")


@pytest.mark.slow
def test_the_command_line_talks_to_a_model(server: ServerProcess, cli: Callable[..., str]) -> None:
    asked = ("inference", "chat-completion", "--model-id", "scripted/fast", "--message", script("say Hello there."))
    assert "Hello there." in cli("--endpoint", server.base, *asked)
    assert "Hello there." in cli("--endpoint", server.base, *asked, "--stream")


@pytest.mark.slow
def test_the_command_line_registers(guarded: ServerProcess, cli: Callable[..., str]) -> None:
    at = ("--endpoint", guarded.base)
    assert "by-hand" in cli(*at, "models", "register", "by-hand", "--provider-id", "lab", "--provider-model-id", "chat")
    assert "by-hand" in cli(*at, "models", "list")
    cli(*at, "models", "unregister", "by-hand")
    assert "by-hand" not in cli(*at, "models", "list")
    assert "lab/guard-4" in cli(*at, "shields", "register", "--shield-id", "lab/guard-4")
    assert "lab/guard-4" in cli(*at, "shields", "list")
