"""A call that waits for approval is approved or refused over the tools of the log, and the turn goes on."""

from __future__ import annotations

import re
from typing import Any

import pytest
from openai import OpenAI

from tests.support.live.caller import script
from tests.support.live.log_client import over_http, run
from tests.support.live.mcp_process import McpProcess
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

BOIL = script('call get_boiling_point {"liquid_name": "polyjuice"}', "then", "say It is known.")


@pytest.mark.parametrize("approve", [True, False])
def test_a_call_is_approved_or_not(
    openai_client: OpenAI, server: ServerProcess, mcp: McpProcess, approve: bool
) -> None:
    tool: Any = {"type": "mcp", "server_label": "lab", "server_url": mcp.url, "require_approval": "always"}
    openai_client.responses.create(model="scripted/fast", input=BOIL, tools=[tool])

    async def work() -> tuple[str, str, str]:
        async with over_http(server.base) as log:
            found = await log.call("search_log", query="status:awaiting_input tool:get_boiling_point", limit=1)
            turn = re.findall(r"^turn (\S+)", found, re.MULTILINE)[0]
            waiting = await log.call("read_turn", turn_id=turn)
            [call_id] = re.findall(r"call_id (\S+):", waiting)
            unsaid = await log.refused("answer_calls", turn_id=turn, answers=[{"call_id": call_id, "content": "-7"}])
            answers = [{"call_id": call_id, "approve": approve, "reason": "" if approve else "too hot"}]
            return waiting, unsaid, await log.call("answer_calls", turn_id=turn, answers=answers)

    waiting, unsaid, done = run(work)
    assert "say approve true or false" in waiting
    assert "waits for approval: say approve" in unsaid
    assert "output: It is known." in done
    assert ("result: -100" in done) is approve
