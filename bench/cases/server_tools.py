"""A turn with one round of a tool of the server, against the same turn without: what the round costs,
its second inference included. Tool and model are scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bench.cases.streaming import WARM_UP, crowd
from bench.client import Place, at_a_time
from bench.faults import Broken
from bench.figures import SECOND, Row, Target
from bench.stage import Stage

MODEL, GROUP, WIDTH = "scripted/fast", "builtin::demo", 8
PLAIN = "say It is sunny there."
ROUND = f'call get_weather {{"city": "Rome"}}\nthen\n{PLAIN}'


async def rows(stage: Stage) -> AsyncIterator[Row]:
    count = stage.size(200, 40)
    without = await _cpu_ms(stage, PLAIN, count, steps=1)
    with_one = await _cpu_ms(stage, ROUND, count, steps=3)
    if without is None or with_one is None:
        return
    what = f"turn with a server tool, {MODEL}, {crowd(WIDTH)}"
    yield Row(what, "server CPU per turn", with_one, "ms", note=f"without the tool {without:.1f} ms, n = {count}")
    yield Row(what, "server CPU of the round", with_one - without, "ms", Target(3, set_at=SECOND), peer="65")


async def _cpu_ms(stage: Stage, script: str, count: int, *, steps: int) -> float | None:
    """Of one turn; None where the server's process is not known."""
    api = stage.api
    config = {"model": MODEL, "instructions": "", "toolgroups": [GROUP]}
    agent = str((await api.ask("POST", api.agents, {"agent_config": config}))["agent_id"])
    places = await api.sessions(agent, count + WARM_UP)
    await at_a_time(WARM_UP, WARM_UP, lambda number: _turn(stage, places[count + number], script, steps))
    with stage.meter() as meter:
        await at_a_time(WIDTH, count, lambda number: _turn(stage, places[number], script, steps))
    return None if meter.cpu_s is None else 1000 * meter.cpu_s / count


async def _turn(stage: Stage, place: Place, script: str, steps: int) -> None:
    messages = [{"role": "user", "content": f"!script\n{script}"}]
    turn = await stage.api.ask("POST", f"{stage.api.session_url(place)}/turn", {"messages": messages, "stream": False})
    if len(turn["steps"]) != steps or turn["output_message"]["content"] != "It is sunny there.":
        raise Broken(f"a turn of {steps} steps is due, this came: {turn}")
