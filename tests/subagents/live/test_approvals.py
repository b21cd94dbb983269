"""A sub-agent whose tool has to be approved: it has no client that could."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.subagents.calling import call, calling
from tests.support.live.agents_api import agent
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.mcp_process import McpProcess
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server


@pytest.fixture
def client(searching: ServerProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{searching.base}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_call_that_would_wait_for_approval_is_stopped(
    client: OpenAI, searching: ServerProcess, mcp: McpProcess
) -> None:
    transport = {"type": "http", "server_url": mcp.url}
    tool: Any = {"type": "mcp", "server_label": "lab", "transport": transport}
    saved = client.beta.agents.create(**agent(tool, name="dropper"))
    caller = Caller(searching.port)
    talk = Talk(caller, toolgroups=calling({"agent": saved.id, "name": "dropper"}))
    drop = f"call drop_everything {json.dumps({'table': 'people'})}"
    answer = talk.say(script(call("dropper", drop, "then", "say Gone."), "then", "say Then not.")).json
    assert answer["output_message"]["content"] == "Then not."
    assert "dropper waits for its client, and a sub-agent has none" in json.dumps(answer["steps"])
    [child] = caller.get(f"/v1/logs/turns?q=caller:{answer['turn_id']}").json["data"]
    assert child["status"] == "cancelled"
