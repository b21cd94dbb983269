"""Answers have the length that was asked for, and their last line leads to all the rest."""

from __future__ import annotations

import re

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.log_client import LogClient, over_http, run
from tests.support.live.process import ServerProcess

pytestmark = pytest.mark.server

SMALL = 2_000
WORDS = " ".join(f"word{number}" for number in range(6_000))


async def whole(log: LogClient, tool: str, pattern: str, **arguments: object) -> list[str]:
    """All the answers, each reached by what the one before said."""
    parts: list[str] = []
    while True:
        text = await log.call(tool, max_chars=SMALL, **arguments)
        assert len(text) <= SMALL
        parts.append(text)
        more = re.search(r"Go on: the same call with (\w+)=(\S+?)[.\]]", text.splitlines()[-1])
        if more is None:
            return parts
        name, value = more[1], more[2]
        assert re.fullmatch(pattern, name), name
        arguments = {**arguments, name: value if name == "after" else int(value)}
        assert len(parts) < 200


def test_every_row_is_reached(server: ServerProcess, caller: Caller) -> None:
    talk = Talk(caller)
    turns = [talk.say(f"{script('say Yes.')}\n# {WORDS[:5_000]}").json["turn_id"] for _ in range(30)]

    async def work() -> list[list[str]]:
        async with over_http(server.base) as log:
            query = f"session:{talk.session}"
            return [
                await whole(log, "search_log", "after", query=query, limit=100, order=order)
                for order in ("newest", "oldest")
            ] + [await whole(log, "search_log", "after", query=query, limit=7, level="step")]

    newest, oldest, steps = run(work)
    assert re.findall(r"^turn (\S+)", "\n".join(newest), re.MULTILINE) == turns[::-1]
    assert re.findall(r"^turn (\S+)", "\n".join(oldest), re.MULTILINE) == turns
    assert len(set(re.findall(r"^step (\S+)", "\n".join(steps), re.MULTILINE))) == len(turns)


def test_every_step_of_a_long_turn_is_reached(server: ServerProcess, caller: Caller) -> None:
    talk = Talk(caller, toolgroups=["builtin::demo"], max_infer_iters=20)
    rounds = [line for number in range(14) for line in (f'call lookup_order {{"order": {number}}}', "then")]
    turn = talk.say(f"{script(*rounds, 'say Done.')}\n# {WORDS[:5_000]}").json

    async def work() -> list[str]:
        async with over_http(server.base) as log:
            return await whole(log, "read_turn", "first_step", turn_id=turn["turn_id"])

    numbers = [int(each) for each in re.findall(r"^no\. (\d+) ", "\n".join(run(work)), re.MULTILINE)]
    assert numbers == list(range(1, 30))


@pytest.mark.parametrize("length", [len(WORDS), 700])
def test_all_of_a_long_text_is_reached(server: ServerProcess, caller: Caller, length: int) -> None:
    said = WORDS[:length]
    turn = Talk(caller).say(script(f"say {said}")).json

    async def work() -> tuple[str, str]:
        async with over_http(server.base) as log:
            step = turn["steps"][0]["step_id"]
            output = await whole(log, "read_turn", "offset", turn_id=turn["turn_id"], part="output")
            return joined(output), joined(await whole(log, "read_step", "offset", step_id=step))

    output, step = run(work)
    assert output == said
    assert f"said ({length:,} characters):\n{said}\n" in step


def joined(parts: list[str]) -> str:
    return "".join(part.partition("\n[cut here.")[0] for part in parts)


def test_a_step_too_large_for_memory_is_read_as_json(server: ServerProcess, caller: Caller) -> None:
    """Parts of it are read from the store as they are needed."""
    turn = Talk(caller).say(script("repeat 690000 héron")).json

    async def work() -> tuple[str, str]:
        async with over_http(server.base) as log:
            step = turn["steps"][0]["step_id"]
            begin = await log.call("read_step", step_id=step)
            return begin, await log.call("read_step", step_id=step, offset=4_000_000)

    begin, later = run(work)
    assert "detail (JSON):" in begin
    assert "héron héron héron" in later
    assert "offset=4007800" in later
