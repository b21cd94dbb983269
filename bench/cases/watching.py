"""Turns of paced tokens on one process, read on another of the same database: how far behind the owner's own readers
each token comes, and what many readers elsewhere cost the owner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from statistics import median

from bench.client import PROMPT, Api, Place, at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency, spread
from bench.models import answer, plan_of
from bench.processes import Meter
from bench.server import Server
from bench.sockets import Watcher, faults, seen
from bench.stage import Stage
from bench.streams import blocks, frame_of

LAGGING = "fake-200-d20-f1000"
"""The first second lets the readers come."""
READ, READ_QUICK = "fake-300-d20-f4000", "fake-100-d20-f2000"
TURNS, READERS = 8, 500
BEHIND, FAR_BEHIND = Target(25), Target(60)
COST = Target(1.05)
PATIENCE_S = 120.0

Text = list[tuple[float, str]]
"""(arrival, text) of each frame with text."""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    async with stage.own().several("watching", 3) as (owner, other, third):
        here, there = Api(stage.api.http, owner.base), Api(stage.api.http, other.base)
        async for row in _lags(stage, here, there):
            yield row
        async for row in _readers(stage, owner, other, Api(stage.api.http, third.base)):
            yield row


# --------------------------------------------------------------------------------------- how far behind


async def _lags(stage: Stage, here: Api, there: Api) -> AsyncIterator[Row]:
    agent = await here.create_agent(LAGGING)
    places = await here.sessions(agent, stage.size(4 * TURNS, TURNS) + TURNS)
    await at_a_time(TURNS, TURNS, lambda number: _both(here, there, places[-1 - number]))
    found = await at_a_time(TURNS, len(places) - TURNS, lambda number: _both(here, there, places[number]))
    lags = [lag for one in found for lag in one]
    what = f"{TURNS} turns of paced tokens at a time, read on another process"
    yield latency(what, "a token behind the owner's reader", lags, BEHIND)
    yield Row(what, "a token behind the owner's reader, p95", spread(lags).p95_ms, "ms", FAR_BEHIND)


async def _both(here: Api, there: Api, place: Place) -> list[float]:
    """Run a turn and read it on the other process too; seconds from each token's arrival to its arrival there."""
    begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    body = {"messages": [{"role": "user", "content": PROMPT}], "stream": True}
    own = asyncio.create_task(_text(here, "POST", f"{here.session_url(place)}/turn", body, begun))
    await asyncio.wait((own, begun), return_when=asyncio.FIRST_COMPLETED)
    if not begun.done():
        own.result()
    url = f"{there.session_url(place)}/turn/{begun.result()}/events"
    elsewhere = await _text(there, "GET", url)
    width = plan_of(LAGGING).width
    return [late - early for early, late in zip(_arrivals(await own, width), _arrivals(elsewhere, width), strict=True)]


async def _text(api: Api, method: str, url: str, body: object = None, begun: asyncio.Future[str] | None = None) -> Text:
    """Read a stream to its end. Raises Broken unless it says all that the endpoint said."""
    raw: list[tuple[float, bytes]] = []
    async with api.open(method, url, body) as response:
        async for arrived, found in blocks(response):
            raw += [(arrived, block) for block in found]
            if begun and not begun.done():
                begun.set_result(str(frame_of(found[0]).payload["turn_id"]))
    text = [(arrived, frame_of(block).text) for arrived, block in raw]
    if (said := "".join(piece for _, piece in text)) != answer(LAGGING):
        raise Broken(f"{method} {url}: {len(said)} characters, not {len(answer(LAGGING))}")
    return text


def _arrivals(text: Text, width: int) -> list[float]:
    """When each token was there, several of which may come in one frame."""
    arrivals: list[float] = []
    length = 0
    for arrived, piece in text:
        length += len(piece)
        arrivals += [arrived] * (length // width - len(arrivals))
    return arrivals


# ------------------------------------------------------------------------------------------ many readers


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of some turns, of their owner and of the process that is read on."""

    owner_s: float
    other_s: float


async def _readers(stage: Stage, owner: Server, other: Server, third: Api) -> AsyncIterator[Row]:
    here, there = Api(stage.api.http, owner.base), Api(stage.api.http, other.base)
    count, model = stage.size(READERS, 50), READ_QUICK if stage.quick else READ
    agent = await here.create_agent(model)
    alone, beside, watched = list[Cost](), list[Cost](), list[Cost]()
    for _ in range(stage.size(5, 1)):
        for costs, readers, source in ((alone, 0, here), (beside, count, third), (watched, count, here)):
            runs = [(api, await api.sessions(agent, 2 * TURNS)) for api in dict.fromkeys((here, source))]
            watchers = [Watcher(there.http, there.base) for _ in range(readers)]
            with Meter(owner.pid) as owners, Meter(other.pid) as others:
                await asyncio.wait_for(_watched(runs, model, watchers), PATIENCE_S)
            costs.append(Cost(owners.cpu_s or 0.0, others.cpu_s or 0.0))
    what = f"{2 * TURNS} turns at a time, {model}, {count} sockets on another process"
    tokens = 2 * TURNS * plan_of(model).tokens
    for base, figure, target in (
        (alone, "CPU of the owner, times that without them", COST),
        (beside, "CPU of the owner, times that while they read turns of a third process", None),
    ):
        ratios = [many.owner_s / few.owner_s for few, many in zip(base, watched, strict=True)]
        without, with_all = (1e6 * median(cost.owner_s for cost in costs) / tokens for costs in (base, watched))
        note = (
            f"{with_all:.0f} µs a token, and {without:.0f}; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
        )
        yield Row(what, figure, median(ratios), "×", target, note=note)
    delivered = tokens * count / (2 * TURNS)
    read = median(cost.other_s for cost in watched)
    yield Row(what, "CPU of the other per delivered token", 1e6 * read / delivered, "µs")


async def _watched(runs: Sequence[tuple[Api, Sequence[Place]]], model: str, watchers: Sequence[Watcher]) -> None:
    """Run turns in places on some processes, with sockets on those of the last process, as many on each. Raises Broken
    where one of them lost something."""
    begun = [await asyncio.gather(*(api.begin(place, model) for place in places)) for api, places in runs]

    async def watch(number: int) -> None:
        await watchers[number].open()
        await watchers[number].watch(f"turn:{begun[-1][number % len(begun[-1])][0]}")
        await watchers[number].close()

    await asyncio.gather(*map(watch, range(len(watchers))), *(reading for turns in begun for _, reading in turns))
    wrong = [found for watcher in watchers if (found := list(faults(seen(watcher.frames), answer(model))))]
    if wrong:
        raise Broken(f"{len(wrong)} of {len(watchers)} sockets lost something; one: {'; '.join(wrong[0][:3])}")
