"""The official client of MCP over both transports and ages of the protocol: what it lists, calls, and is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests import ROOT
from tests.support.live.caller import Caller, Talk, script, tool
from tests.support.live.log_client import LogClient, over_http, over_stdio, run
from tests.support.live.process import ServerProcess, eventually, running

pytestmark = pytest.mark.server

READING = ["search_log", "query_guide", "read_turn", "read_step", "compare_turns", "count_log", "list_agents"]
ACTING = ["run_agent", "answer_calls", "decide_calls", "cancel_turn"]
Connect = Callable[..., AbstractAsyncContextManager[LogClient]]

KEYS = """
from agents.models import User
from agents.base.store import keys
for name, actions in (("ann", ["read", "run", "manage"]), ("ben", ["read"]), ("eve", ["ingest"])):
    user = keys.of_user(User.objects.create_user(name))
    print(keys.create(user, name=name, actions=actions)[1])
"""


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[ServerProcess]:
    """A server that nobody uses without a key."""
    with running(tmp_path_factory.mktemp("closed"), {"REQUIRE_LOGIN": "true"}, data=data) as process:
        yield process


@pytest.fixture(scope="module")
def secrets(closed: ServerProcess) -> dict[str, str]:
    """The keys of people on it: Ann may run agents, Ben may read, Eve may report only."""
    return dict(zip(("ann", "ben", "eve"), closed.shell(KEYS).splitlines(), strict=True))


@pytest.fixture(params=["http", "stdio"])
def connect(request: pytest.FixtureRequest, server: ServerProcess, tmp_path: Path) -> Connect:
    if request.param == "http":
        return partial(over_http, server.base)
    return partial(over_stdio, server.base, tmp_path)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_lists_and_calls_the_tools(connect: Connect, mode: str) -> None:
    async def work() -> tuple[list[types.Tool], str, str, str | None]:
        async with connect(mode=mode) as log:
            guide, version = await log.call("query_guide"), log.client.protocol_version
            return await log.tools(), guide, version, log.client.instructions

    tools, guide, version, instructions = run(work)
    assert [tool.name for tool in tools] == [*READING, *ACTING]
    assert all(tool.description and tool.annotations for tool in tools)
    hints = {tool.name: tool.annotations.read_only_hint for tool in tools if tool.annotations}
    assert [name for name, is_reading in hints.items() if is_reading] == READING
    assert "status:failed" in guide
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert instructions
    assert "search_log" in instructions


def test_an_agent_is_run_answered_and_read(connect: Connect, caller: Caller) -> None:
    talk = Talk(caller, name=f"helper {id(connect)}", client_tools=[tool("ask_user", "question")])
    message = script('call ask_user {"question": "which?"}', "then", "say The red one.")

    async def work() -> list[str]:
        async with connect() as log:
            waiting = await log.call("run_agent", agent=talk.agent, message=message)
            turn, call = match(r"turn (\S+)", waiting), match(r"call_id (\S+):", waiting)
            wrong = await log.refused("answer_calls", turn_id=turn, answers=[{"call_id": "no", "content": "x"}])
            answers = [{"call_id": call, "content": "red"}]
            return [waiting, wrong, await log.call("answer_calls", turn_id=turn, answers=answers)]

    waiting, wrong, done = run(work)
    assert "awaiting_input" in waiting
    assert 'ask_user({"question": "which?"})' in waiting
    assert "unknown_call_id" in wrong
    assert "output: The red one." in done
    assert "result: red" in done


def test_a_session_is_continued_and_an_agent_named(server: ServerProcess, caller: Caller) -> None:
    name = f"named {id(server)}"
    Talk(caller, name=name)

    async def work() -> tuple[str, str, str]:
        async with over_http(server.base) as log:
            first = await log.call("run_agent", agent=name, message=script("say One."))
            session = match(r"session (\S+)", first)
            await log.call("run_agent", agent=name, message=script("say Two."), session_id=session)
            turns = await log.call("search_log", query=f"session:{session}", order="oldest")
            Talk(caller, name=name)
            return first, turns, await log.refused("run_agent", agent=name, message="hello")

    first, turns, ambiguous = run(work)
    assert "output: One." in first
    assert turns.index("One.") < turns.index("Two.")
    assert ambiguous.startswith("agent_ambiguous: agent: 2 agents are called")


def test_a_turn_that_takes_long_is_waited_for_again_and_cancelled(server: ServerProcess, caller: Caller) -> None:
    talk = Talk(caller)

    async def work() -> tuple[str, str, str]:
        async with over_http(server.base) as log:
            message = script("wait 600s", "say Late.")
            begun = await log.call("run_agent", agent=talk.agent, message=message, wait_seconds=0)
            turn = match(r"turn (\S+)", begun)
            still = await log.call("read_turn", turn_id=turn, wait_seconds=1)
            return begun, still, await log.call("cancel_turn", turn_id=turn)

    begun, still, stopped = run(work)
    assert "| in_progress |" in begun
    assert "| in_progress |" in still
    assert "| cancelled" in stopped


@pytest.mark.parametrize("version", ["2025-11-25", ""])
def test_a_caller_that_hangs_up_leaves_its_turn_alone(caller: Caller, version: str) -> None:
    """It can be read, and waited for, by the next message."""
    talk, name = Talk(caller), f"hung up on {version or 'no version'} {id(caller)}"
    message = script("wait 1s", f"say {name}.")
    params = {"name": "run_agent", "arguments": {"agent": talk.agent, "message": message, "wait_seconds": 50}}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with caller.sent("POST", "/mcp", called, {"MCP-Protocol-Version": version} if version else {}):
        turn = eventually(lambda: caller.get(f"/v1/logs/turns?q=agent:{talk.agent}").json["data"])

    row = eventually(
        lambda: [
            each for each in caller.get(f"/v1/logs/turns?q=id:{turn[0]['id']}").json["data"] if each["completed_at"]
        ]
    )
    assert (row[0]["status"], row[0]["output_preview"]) == ("completed", f"{name}.")


def test_a_refused_query_says_where_and_how_to_do_better(connect: Connect) -> None:
    async def work() -> list[str]:
        async with connect() as log:
            with pytest.raises(MCPError, match="Unknown tool"):
                await log.ask("drop_log")
            return [
                await log.refused("search_log", query="stats:failed"),
                await log.refused("search_log", query="status:(failed"),
                await log.refused("search_log", limit=0),
                await log.refused("search_log", q="an argument that there is not"),
                await log.refused("search_log", after="nobody's"),
                await log.refused("read_turn", turn_id="../etc/passwd"),
                await log.refused("read_step", step_id="\0"),
                await log.refused("count_log", by=["status", "agent", "model"]),
                await log.refused("count_log", by=["nothing"]),
                await log.refused("run_agent", agent="nobody's", message="hello"),
                await log.refused("answer_calls", turn_id="none", answers=[]),
                await log.refused("read_turn", turn_id="x", max_chars=10**9),
            ]

    unknown, *others = run(work)
    assert unknown.startswith('query_syntax: Unknown field "stats". Did you mean status? (at character 0)')
    codes = [each.split(":")[0] for each in others]
    assert codes[:6] == ["query_syntax", *["invalid_request_error"] * 3, *["not_found_error"] * 2]
    assert codes[6:] == [*["invalid_request_error"] * 2, "agent_not_found", *["invalid_request_error"] * 2]


# ------------------------------------------------------------------------------------------------ rights


def test_nobody_is_let_in_without_a_key(closed: ServerProcess, secrets: dict[str, str]) -> None:
    caller = Caller(closed.port)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    refused = caller.post("/mcp", ping)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert caller.post("/mcp", ping, Authorization="Bearer ask_wrong").status == 401
    assert caller.post("/mcp", ping, Authorization=f"Bearer {secrets['eve']}").status == 403
    assert caller.post("/mcp", ping, Authorization=f"Bearer {secrets['ben']}").status == 200


def test_the_key_says_what_is_seen_and_done(closed: ServerProcess, secrets: dict[str, str]) -> None:
    ann = Talk(Caller(closed.port, {"Authorization": f"Bearer {secrets['ann']}"}), name="ann's own")
    turn = ann.say(script("call get_weather {}", "then", "say The heron is grey.")).json

    async def hers() -> tuple[str, str]:
        async with over_http(closed.base, secrets["ann"]) as log:
            return await log.call("search_log", query="heron"), await log.call("list_agents")

    async def his() -> dict[str, str]:
        async with over_http(closed.base, secrets["ben"]) as log:
            turn_id, step_id = turn["turn_id"], turn["steps"][0]["step_id"]
            return {
                "tools": " ".join(tool.name for tool in await log.tools()),
                "search": await log.call("search_log", query="heron"),
                "steps": await log.call("search_log", level="step"),
                "sessions": await log.call("search_log", level="session"),
                "numbers": await log.call("count_log", by=["agent"]),
                "agents": await log.call("list_agents"),
                "turn": await log.refused("read_turn", turn_id=turn_id),
                "input": await log.refused("read_turn", turn_id=turn_id, part="input", wait_seconds=1),
                "step": await log.refused("read_step", step_id=step_id),
                "compare": await log.refused("compare_turns", turn_id=turn_id, other_id=turn_id),
                "run": await log.refused("run_agent", agent=ann.agent, message="hello"),
                "cancel": await log.refused("cancel_turn", turn_id=turn_id),
            }

    assert "The heron is grey." in run(hers)[0]
    assert "ann's own" in run(hers)[1]
    told = run(his)
    assert told["tools"] == " ".join(READING)
    assert "is grey" not in " ".join(told.values())
    assert "ann's own" not in " ".join(told.values())
    assert (told["search"].endswith("newest first: none"), told["agents"]) == (True, "No agents.")
    assert {told[name].split(":")[0] for name in ("turn", "input", "step", "compare")} == {"not_found_error"}
    assert {told[name].split(":")[0] for name in ("run", "cancel")} == {"missing_action"}


def test_other_sites_pages_and_other_names_are_refused(server: ServerProcess) -> None:
    """Whoever rebinds a name to this machine, or lets a reader's browser ask, gets nothing."""
    caller, ping = Caller(server.port), {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert caller.post("/mcp", ping, Origin="http://evil.example").status == 403
    assert caller.post("/mcp", ping, Host="evil.example").status == 400
    assert caller.post("/mcp", ping, Origin=server.base).status == 200


def test_there_is_no_session_to_open_or_end(caller: Caller) -> None:
    """Any process answers any request; there is nothing to follow."""
    assert caller.get("/mcp").status == 405
    assert caller.delete("/mcp").status == 405
    called = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
    answer = caller.post("/mcp", called)
    assert answer.headers["content-type"].startswith("application/json")
    assert "mcp-session-id" not in answer.headers
    assert answer.json["id"] == 7
    assert caller.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202


HOSTILE: list[Any] = [
    [],
    {},
    [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5, "arguments": 7}},
    {"jsonrpc": "2.0", "id": [1], "method": "ping"},
    {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": "x" * 10_000}}},
]


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01"])
def test_what_is_no_message_is_refused(caller: Caller, version: str | None) -> None:
    headers = {"MCP-Protocol-Version": version} if version else {}
    for sent in HOSTILE:
        answer = caller.post("/mcp", sent, **headers)
        assert answer.status < 500, (sent, answer.body)
        assert answer.status == 202 or answer.json
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert caller.post("/mcp", deep, **headers).status == 400
    assert caller.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 200


def test_the_command_says_why_it_cannot_serve(closed: ServerProcess, secrets: dict[str, str], tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(secrets["eve"])
    assert "refused this key (401)" in command(tmp_path, f"{closed.base}/mcp")
    assert "refused this key (403)" in command(tmp_path, f"{closed.base}/mcp", "--key-file", str(key))
    assert "No server answers at" in command(tmp_path, "http://127.0.0.1:9/mcp")
    assert "answered 404" in command(tmp_path, f"{closed.base}/v1/nothing")
    assert "cannot read" in command(tmp_path, f"{closed.base}/mcp", "--key-file", str(tmp_path / "missing"))


def command(data: Path, url: str, *options: str) -> str:
    """What the command says before it ends."""
    line = [sys.executable, str(ROOT / "manage.py"), "mcp", "--url", url, *options]
    environment = {"DATA_DIR": str(data)}
    done = subprocess.run(line, env=environment, input="", capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    return done.stderr


def match(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, text
    return found[1]
