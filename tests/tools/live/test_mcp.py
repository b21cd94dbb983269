"""MCP servers, real ones of the official SDK, as the official client registers, lists and calls them; and
the other tools that settings give a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_stack_client import (
    AuthenticationError,
    BadRequestError,
    ConflictError,
    LlamaStackClient,
    NotFoundError,
)
from llama_stack_client.lib.agents.agent import Agent

from tests import ROOT
from tests.support.live.mcp_process import TOKEN, McpProcess, check_kept_nowhere, engine_serving, search_keys, served
from tests.support.live.process import ServerProcess, eventually, running

pytestmark = pytest.mark.server

PROVIDER = "model-context-protocol"
TOOLS = {"greet_everyone", "get_boiling_point", "die", "wait_forever", "long_text", "drop_everything"}


@pytest.fixture(scope="module")
def plain() -> Iterator[McpProcess]:
    with served() as made:
        yield made


@pytest.fixture(scope="module")
def guarded() -> Iterator[McpProcess]:
    with served(token=TOKEN) as made:
        yield made


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """Where the search engine is."""
    with engine_serving() as url:
        yield url


@pytest.fixture(scope="module")
def mcp_server_process(tmp_path_factory: pytest.TempPathFactory, data: Path, engine: str) -> Iterator[ServerProcess]:
    """A server of ours with two MCP servers, a function and a search engine in its settings."""
    script = ROOT / "tests/support/live/mcp_server.py"
    dead = '"dead": {"url": "http://127.0.0.1:9/mcp"}'
    stdio = f'"stdio": {{"command": ["{sys.executable}", "{script}", "stdio"]}}'
    servers = f"{{{dead}, {stdio}}}"
    settings = {"MCP_SERVERS": servers, "TOOL_TIMEOUT_S": "6", "TOOL_FUNCTIONS": "string:capwords"}
    settings["BRAVE_SEARCH_URL"] = engine
    with running(tmp_path_factory.mktemp("mcp"), settings, data=data) as made:
        yield made


@pytest.fixture
def client(mcp_server_process: ServerProcess) -> Iterator[LlamaStackClient]:
    with LlamaStackClient(base_url=mcp_server_process.base, max_retries=0) as client:
        yield client


Register = Callable[..., str]


@pytest.fixture
def register(client: LlamaStackClient) -> Iterator[Register]:
    """Registers a server and forgets it after the test."""
    names: list[str] = []

    def do(server: McpProcess, **more: Any) -> str:
        names.append(f"mcp::{len(names)}")
        endpoint: Any = {"uri": server.url}
        client.toolgroups.register(toolgroup_id=names[-1], provider_id=PROVIDER, mcp_endpoint=endpoint, **more)
        return names[-1]

    yield do
    for name in names:
        client.toolgroups.unregister(name)


def ask(client: LlamaStackClient, group: Any, script: str, **more: Any) -> Any:
    """The turn of an agent whose model plays a script."""
    agent = Agent(client, model="scripted/fast", instructions="", tools=[group])
    session = agent.create_session("mcp")
    messages: Any = [{"role": "user", "content": f"!script\n{script}"}]
    return agent.create_turn(messages, session_id=session, stream=False, **more)


def answers(turn: Any) -> list[str]:
    """What the tools of a turn answered."""
    steps = [step for step in turn.steps if step.step_type == "tool_execution"]
    contents = [response.content for step in steps for response in step.tool_responses]
    return [one if isinstance(one, str) else "".join(item.text for item in one) for one in contents]


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
def test_its_tools_are_listed_and_called(client: LlamaStackClient, register: Register, transport: str) -> None:
    with served(transport=transport) as server:
        name = register(server)

        tools = {tool.identifier: tool for tool in client.tools.list(toolgroup_id=name)}
        result = client.tool_runtime.invoke_tool(tool_name="greet_everyone", kwargs={"url": "here"})
        turn = ask(
            client, name, 'call get_boiling_point {"liquid_name": "polyjuice", "celsius": false}\nthen\nsay Cold.'
        )

    assert set(tools) == TOOLS
    assert tools["greet_everyone"].toolgroup_id == name
    assert [one.name for one in tools["get_boiling_point"].parameters] == ["liquid_name", "celsius"]
    assert result.content[0].text == "Hello, world! (here)"  # type: ignore[index, union-attr]  # a list of items
    assert answers(turn) == ["-148"]
    assert turn.output_message.content == "Cold."


def test_a_group_is_an_object_until_it_is_unregistered(client: LlamaStackClient, plain: McpProcess) -> None:
    endpoint: Any = {"uri": plain.url}
    for _ in range(2):  # the same again is accepted
        client.toolgroups.register(toolgroup_id="mcp::object", provider_id=PROVIDER, mcp_endpoint=endpoint)

    group = client.toolgroups.get("mcp::object")
    assert group in client.toolgroups.list()
    assert group.mcp_endpoint is not None
    assert (group.provider_id, group.mcp_endpoint.uri) == (PROVIDER, plain.url)
    with pytest.raises(ConflictError, match="registered already"):
        client.toolgroups.register(
            toolgroup_id="mcp::object", provider_id=PROVIDER, mcp_endpoint={"uri": "http://127.0.0.1:9/other"}
        )
    client.toolgroups.unregister("mcp::object")
    for gone in (client.toolgroups.get, client.toolgroups.unregister):
        with pytest.raises(NotFoundError, match="Tool group 'mcp::object' not found"):
            gone("mcp::object")
    with pytest.raises(BadRequestError, match="not found"):
        ask(client, {"name": "mcp::object", "args": {}}, "say never")


def test_a_server_that_wants_a_token_is_listed_and_called_with_it(
    client: LlamaStackClient, register: Register, guarded: McpProcess, mcp_server_process: ServerProcess
) -> None:
    name = register(guarded)

    with pytest.raises(AuthenticationError, match="Unauthorized"):
        client.tools.list(toolgroup_id=name)
    assert {tool.identifier for tool in client.tools.list(toolgroup_id=name, extra_headers=guarded.sent)} == TOOLS
    assert {tool.identifier for tool in client.tools.list(toolgroup_id=name)} == TOOLS  # remembered

    greet: Any = {"tool_name": "greet_everyone", "kwargs": {"url": "here"}}
    assert client.tool_runtime.invoke_tool(**greet, extra_headers=guarded.sent).error_message is None
    assert "Unauthorized" in str(client.tool_runtime.invoke_tool(**greet).error_message)
    script = 'call greet_everyone {"url": "there"}\nthen\nsay Done.'
    assert "Unauthorized" in answers(ask(client, name, script))[0]
    assert answers(ask(client, name, script, extra_headers=guarded.sent)) == ["Hello, world! (there)"]
    check_kept_nowhere(TOKEN, mcp_server_process)


def test_a_registered_header_is_sent_and_never_told(
    client: LlamaStackClient, register: Register, guarded: McpProcess, mcp_server_process: ServerProcess
) -> None:
    name = register(guarded, args={"headers": {"Authorization": f"Bearer {TOKEN}"}})

    assert {tool.identifier for tool in client.tools.list(toolgroup_id=name)} == TOOLS
    assert client.tool_runtime.invoke_tool(tool_name=f"{name}/greet_everyone", kwargs={"url": ""}).error_message is None
    assert client.toolgroups.get(name).args == {"headers": {"Authorization": "***"}}
    check_kept_nowhere(TOKEN, mcp_server_process)


def test_a_server_that_dies_in_mid_call_is_an_answer_to_the_model(client: LlamaStackClient, register: Register) -> None:
    with served() as server:
        name = register(server)
        turn = ask(client, name, "call die {}\nthen\nsay It died.")
        tools = client.tools.list(toolgroup_id=name)

    assert "hung up" in answers(turn)[0]
    assert turn.output_message.content == "It died."
    assert {tool.identifier for tool in tools} == TOOLS  # those of its last listing


@pytest.mark.slow
def test_a_tool_that_never_ends_is_given_up(client: LlamaStackClient, register: Register, plain: McpProcess) -> None:
    turn = ask(client, f"{register(plain)}/wait_forever", "call wait_forever {}\nthen\nsay Enough.")

    assert answers(turn) == ["wait_forever did not answer within 6 s."]
    assert turn.output_message.content == "Enough."


def test_one_dead_server_does_not_break_the_lists(client: LlamaStackClient, mcp_server_process: ServerProcess) -> None:
    eventually(lambda: "stdio" in {tool.toolgroup_id for tool in client.tools.list()})
    groups = {group.identifier: group.to_dict() for group in client.toolgroups.list()}

    note = groups["dead"]["metadata"]
    assert isinstance(note, dict)
    assert "cannot be reached" in str(note["note"])
    assert "builtin::demo" in {tool.toolgroup_id for tool in client.tools.list()}
    assert answers(ask(client, "stdio", 'call whisper {"word": "hush"}\nthen\nsay Hi.')) == ["(hush)"]


def test_a_function_of_the_settings_is_a_tool(client: LlamaStackClient) -> None:
    [tool] = client.tools.list(toolgroup_id="functions")
    assert (tool.identifier, [one.name for one in tool.parameters]) == ("capwords", ["s", "sep"])
    assert client.tool_runtime.invoke_tool(tool_name="capwords", kwargs={"s": "blue kettle"}).content == "Blue Kettle"
    turn = ask(client, "functions", 'call capwords {"s": "red cup"}\ncall capwords {"q": 1}\nthen\nsay So.')
    good, bad = answers(turn)
    assert good == "Red Cup"
    assert "s: Field required" in bad


def test_an_agent_searches_the_web(client: LlamaStackClient, mcp_server_process: ServerProcess) -> None:
    [tool] = client.tools.list(toolgroup_id="builtin::websearch")
    assert tool.identifier == "web_search"
    script = 'call brave_search {"query": "kettles"}\nthen\nsay Blue.'
    sent = {"X-LlamaStack-Provider-Data": '{"brave_search_api_key": "key-of-mine"}'}
    turn = ask(client, "builtin::websearch", script, extra_headers=sent)

    [step] = [step for step in turn.steps if step.step_type == "tool_execution"]
    assert step.tool_calls[0].tool_name == step.tool_responses[0].tool_name == "brave_search"
    found = json.loads(step.tool_responses[0].content)
    assert found == {
        "query": "kettles",
        "top_k": [{"title": "Kettles", "url": "https://example.org/", "content": "Blue."}],
    }
    assert search_keys[-1:] == ["key-of-mine"]
    assert "BRAVE_SEARCH_API_KEY" in answers(ask(client, "builtin::websearch", script))[0]
    check_kept_nowhere("key-of-mine", mcp_server_process)


def test_list_tools_asks_a_server_that_is_not_registered(client: LlamaStackClient, guarded: McpProcess) -> None:
    endpoint: Any = {"uri": guarded.url}

    found: Any = client.tool_runtime.list_tools(mcp_endpoint=endpoint, extra_headers=guarded.sent)

    assert {tool.name for tool in found} == TOOLS
    with pytest.raises(AuthenticationError, match="Unauthorized"):
        client.tool_runtime.list_tools(mcp_endpoint=endpoint)
