"""How many commits a round of a tool takes. What a tool is about to do is stored before it is called. Model and tool
answer at once here, so that all of a round would be stored with what comes before and after it: a commit of a round is
there because a tool waits for it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

from bench.client import Api, Place
from bench.faults import Broken
from bench.figures import Row, Target
from bench.server import Store
from bench.stage import Stage

MODEL = "scripted/fast"
FUNCTIONS = {"TOOL_FUNCTIONS": '{"words": ["string:capwords"]}'}
"""A function that takes no time: the tools of the demo take some, in which turns look for budgets once a second."""
ROUNDS = 8
CALL = 'call capwords {"s": "blue kettle"}\nthen\n'
SAYS = "say It is sunny there."
MOST = Target(1)
_COMMITS = re.compile(r"^\w+_writer_commit_seconds_count (\S+)$", re.M)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own, count = stage.own(), stage.size(50, 5)
    for engine, on_postgresql in (("SQLite", False), ("PostgreSQL", True)):
        async with own.serve(Store(f"write-ahead-{engine}", on_postgresql), settings=FUNCTIONS) as server:
            api = Api(stage.api.http, server.base)
            config = {"model": MODEL, "instructions": "", "toolgroups": ["words"]}
            agent = str((await api.ask("POST", api.agents, {"agent_config": config}))["agent_id"])
            plain = await _commits(api, agent, SAYS, count, steps=1)
            with_tools = await _commits(api, agent, CALL * ROUNDS + SAYS, count, steps=2 * ROUNDS + 1)
        what = f"turn with {ROUNDS} rounds of a server tool, {MODEL}, alone, {engine}"
        note = f"{with_tools:.1f} a turn, {plain:.1f} without the tool, n = {count}"
        yield Row(what, "commits per round", round((with_tools - plain) / ROUNDS, 2), "", MOST, note=note)


async def _commits(api: Api, agent: str, script: str, count: int, *, steps: int) -> float:
    """Of one such turn; one at a time, so that no two share a commit."""
    places = await api.sessions(agent, count + 1)
    await _turn(api, places[-1], script, steps)
    before = await _counted(api)
    for place in places[:-1]:
        await _turn(api, place, script, steps)
    return (await _counted(api) - before) / count


async def _counted(api: Api) -> float:
    _, body = await api.timed_get(f"{api.base}/metrics")
    found = _COMMITS.search(body.decode())
    if found is None:
        raise Broken("GET /metrics: no commits are counted")
    return float(found[1])


async def _turn(api: Api, place: Place, script: str, steps: int) -> None:
    body = {"messages": [{"role": "user", "content": f"!script\n{script}"}], "stream": False}
    turn = await api.ask("POST", f"{api.session_url(place)}/turn", body)
    if len(turn["steps"]) != steps:
        raise Broken(f"a turn of {steps} steps is due, this came: {str(turn)[:300]}")
