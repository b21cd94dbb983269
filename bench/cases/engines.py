"""The same streams with the data in SQLite and in PostgreSQL, one after the other, several times: what the server's own
process takes for a token. What PostgreSQL's processes take comes on top, and may be elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from statistics import median

from bench.cases import streaming
from bench.cases.streaming import crowd
from bench.client import Api
from bench.faults import Skipped
from bench.figures import Row, Target
from bench.server import Server, Store
from bench.stage import Stage

SETTINGS = (("fake-200", 8, 128, 16), ("fake-200", 32, 128, 32), ("fake-50-d20", 32, 128, 32))
"""Model, width, turns, turns when it has to be quick."""
WITHIN = Target(1.2)


async def rows(stage: Stage) -> AsyncIterator[Row]:
    own = stage.own()
    async with own.serve(Store("engines", False)) as sqlite, own.serve(Store("engines-pg", True)) as postgresql:
        stages = [_of(stage, server) for server in (sqlite, postgresql)]
        for model, width, full, quick in SETTINGS:
            costs: tuple[list[float], list[float]] = ([], [])
            for _ in range(stage.size(5, 1)):
                for one, into in zip(stages, costs, strict=True):
                    into.append(await _per_token(one, model, width, stage.size(full, quick)))
            ratios = [there / here for here, there in zip(*costs, strict=True)]
            here, there = map(median, costs)
            note = f"{there:.1f} and {here:.1f} µs; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
            what = f"turn, {model}, {crowd(width)}"
            yield Row(what, "server CPU per token, PostgreSQL / SQLite", median(ratios), "×", WITHIN, note=note)


def _of(stage: Stage, server: Server) -> Stage:
    return replace(stage, api=Api(stage.api.http, server.base), server_pid=server.pid)


async def _per_token(stage: Stage, model: str, width: int, count: int) -> float:
    streams = await streaming.turns(stage, model, width=width, count=count)
    row = next(streams.cpu(), None)
    if row is None:
        raise Skipped("the server's process is not known")
    return row.value
