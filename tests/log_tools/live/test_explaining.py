"""A coding agent that has never seen this server finds out why a turn failed, and reads little of the log for it."""

from __future__ import annotations

import re

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.log_client import over_http, run
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

TURNS = 300
MAX_TOKENS, CHARS_OF_TOKEN = 20_000, 4
LONG = "The customer asks where the parcel is, and is told what the carrier says. " * 30


@pytest.fixture
def failed(caller: Caller) -> str:
    """Some hundred turns of one agent that went well, and one between them that failed because of a tool."""
    talk = Talk(caller, name="parcels", toolgroups=["builtin::demo"])
    turn = ""
    for number in range(TURNS):
        if number == TURNS // 3:
            lines = ['call lookup_order {"order": "8841-B"}', "then", "fail 500 the order could not be read"]
            turn = talk.say(f"{script(*lines)}\n# Where is order 8841-B? {LONG}").json["turn"]["turn_id"]
        else:
            looks = [f'call lookup_order {{"order": {number}}}', "then"] if number % 50 == 0 else []  # it takes a while
            lines = [*looks, f"say Order {number} is on its way. {LONG}"]
            assert talk.say(f"{script(*lines)}\n# Where is order {number}? {LONG}").status == 200
        if number % 10 == 9:
            talk.begin_session()
    return turn


def test_a_failed_turn_is_found_and_explained(server: ServerProcess, failed: str) -> None:
    """The way that the descriptions of the tools say: count, search, read the turn, read the step, compare."""

    async def work() -> tuple[list[str], int]:
        async with over_http(server.base) as log:
            await log.tools()
            counted = await log.call("count_log", query="agent:parcels", by=["status"])
            found = await log.call("search_log", query="agent:parcels status:failed")
            turn = first(r"^turn (\S+)", found)
            outline = await log.call("read_turn", turn_id=turn)
            step = first(r"tool_execution lookup_order \| failed .*\| step (\S+)", outline)
            detail = await log.call("read_step", step_id=step)
            good = await log.call("search_log", query="agent:parcels status:completed tool:lookup_order", limit=1)
            compared = await log.call("compare_turns", turn_id=turn, other_id=first(r"^turn (\S+)", good))
            return [counted, turn, outline, detail, compared], log.read

    (counted, turn, outline, detail, compared), read = run(work)
    assert f"{TURNS}, 1 failed" in counted
    assert turn == failed
    assert "steps: 3; the first that failed is no. 2" in outline
    assert '"order": "8841-B"' in detail
    assert "error" in detail
    assert "There is no order '8841-B': an order is a number." in detail
    assert "status: a failed → b completed" in compared
    assert '"8841-B"' in compared
    assert read < MAX_TOKENS * CHARS_OF_TOKEN, read


def first(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    assert found, text
    return found[1]
