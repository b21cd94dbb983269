"""Tools of the server in OpenAI's Agents API: MCP servers with approvals, web search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openai import APIStatusError, BadRequestError, OpenAI

from tests.support.live.agents_api import Talk, agent, decision, function, short
from tests.support.live.caller import script
from tests.support.live.mcp_process import TOKEN, McpProcess, check_kept_nowhere
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

BOIL = ('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say Minus one hundred.")
DROP = ('call drop_everything {"table": "people"}', "then", "say So be it.")


@pytest.fixture
def client(searching: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{searching.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def offered(server: McpProcess, **transport: Any) -> dict[str, Any]:
    return {
        "type": "mcp",
        "server_label": "lab",
        "transport": {"type": "http", "server_url": server.url, **transport},
    }


def test_a_server_s_tool_is_an_mcp_call(client: OpenAI, mcp: McpProcess) -> None:
    talk = Talk.begin(client, *BOIL, agent=agent(offered(mcp)))
    talk.until("idle")
    [_, call, _] = talk.items()
    assert (call.type, call.server_label, call.name, call.status) == (
        "mcp_call",
        "lab",
        "get_boiling_point",
        "completed",
    )
    assert call.arguments == {"liquid_name": "polyjuice"}
    assert call.output == "-100"
    assert call.error is None


def test_a_call_that_fails_says_why(client: OpenAI, mcp: McpProcess) -> None:
    talk = Talk.begin(
        client, 'call get_boiling_point {"liquid_name": "tea"}', "then", "say No.", agent=agent(offered(mcp))
    )
    talk.until("idle")
    call = talk.items()[1]
    assert (call.status, call.output) == ("failed", None)
    assert "get_boiling_point" in call.error


def test_a_server_that_is_gone_fails_the_turn(client: OpenAI) -> None:
    tool = {
        "type": "mcp",
        "server_label": "gone",
        "transport": {"type": "http", "server_url": "http://127.0.0.1:9/mcp"},
    }
    talk = Talk.begin(client, *BOIL, agent=agent(tool))
    talk.until("idle")
    assert talk.turns()[0].status == "failed"


GONE: Any = {
    "type": "mcp",
    "server_label": "gone",
    "transport": {"type": "http", "server_url": "http://127.0.0.1:9/mcp"},
    "required": True,
}


@pytest.mark.parametrize("stream", [False, True])
def test_without_a_server_that_is_required_no_session_begins(client: OpenAI, mcp: McpProcess, stream: bool) -> None:
    before = [one.id for one in client.beta.agents.sessions.list()]
    there = {**offered(mcp), "required": True}
    with pytest.raises(APIStatusError) as failed:
        Talk.begin(client, *BOIL, agent=agent(there, GONE), stream=stream)
    body: Any = failed.value.body
    assert (failed.value.status_code, body["code"], body["param"]) == (
        424,
        "mcp_server_startup_failed",
        "agent.tools[1]",
    )
    assert body["message"].startswith("agent.tools[1]: The MCP server 'gone' did not say what tools it has")
    assert [one.id for one in client.beta.agents.sessions.list()] == before


def test_a_saved_agent_s_server_is_required_too(client: OpenAI) -> None:
    saved: Any = client.beta.agents.create(model="scripted/fast", tools=[GONE])
    with pytest.raises(APIStatusError) as failed:
        Talk.begin(client, *BOIL, agent=None, agent_id=saved.id)
    body: Any = failed.value.body
    assert (failed.value.status_code, body["param"]) == (424, "agent_id")
    without = Talk.begin(client, "say Hi.", agent={"tools": []}, agent_id=saved.id)
    without.until("idle")
    assert without.texts()[-1] == "Hi."


def test_with_a_server_that_is_required_and_there_a_session_begins(client: OpenAI, mcp: McpProcess) -> None:
    given: Any = {"agent": agent({**offered(mcp), "required": True}), "environment": {"type": "none"}, "stream": True}
    with client.beta.agents.sessions.create(input=script(*BOIL), **given) as stream:
        assert "mcp_call" in [event.item.type for event in stream if event.type.endswith("item.done")]


@pytest.mark.parametrize("word", ["approve", "deny", "cancel"])
def test_a_call_that_destroys_is_asked_about(client: OpenAI, mcp: McpProcess, word: str) -> None:
    talk = Talk.begin(client, *DROP, agent=agent(offered(mcp)))
    session = talk.until("requires_action")
    [action] = session.required_actions
    assert (action.type, action.request.server_label, action.request.name) == (
        "mcp_approval_request",
        "lab",
        "drop_everything",
    )
    assert action.request.arguments == {"table": "people"}
    assert [item.type for item in talk.items()] == ["message"]
    with talk.watched() as watcher:
        talk.send(decision(action, word))
        talk.send(decision(action, word))
        events = watcher.until("idle")
    assert "in_progress" in short(events)
    call = talk.items()[1]
    assert call.type == "mcp_call"
    if word == "approve":
        assert (call.status, call.output) == ("completed", "dropped people")
    else:
        assert (call.status, call.error) == ("failed", "The call was not approved.")
    assert len(talk.items()) == 3


def test_an_authorization_is_used_and_kept_secret(
    client: OpenAI, searching: ServerProcess, locked_mcp: McpProcess
) -> None:
    talk = Talk.begin(client, *BOIL, agent=agent(offered(locked_mcp, authorization=TOKEN)))
    session = talk.until("idle")
    assert session.agent.tools[0].to_dict()["transport"] == {"type": "http", "server_url": locked_mcp.url}
    assert talk.items()[1].output == "-100"
    with talk.sessions.stream(talk.id, input="\n".join(("!script", *BOIL))) as stream:
        assert stream.get_final_result().output_text == "Minus one hundred."
    check_kept_nowhere(TOKEN, searching)


def test_web_search_is_an_item_of_its_own(client: OpenAI) -> None:
    tool: Any = {"type": "web_search", "context_size": "low"}
    talk = Talk.begin(client, 'call web_search {"query": "kettles"}', "then", "say Found.", agent=agent(tool))
    session = talk.until("idle")
    assert session.agent.tools[0].to_dict()["context_size"] == "low"
    call = talk.items()[1]
    assert (call.type, call.status, call.action.query) == ("web_search_call", "completed", "kettles")


def test_tools_without_a_machine_are_refused(client: OpenAI) -> None:
    transport = {"type": "stdio", "command": "rm", "cwd": "/"}
    tools: Any = [function("f"), {"type": "mcp", "server_label": "lab", "transport": transport}]
    with pytest.raises(BadRequestError) as refused:
        client.beta.agents.create(model="scripted/fast", tools=tools)
    assert refused.value.param == "tools[1].transport.type"
