"""Five hundred sockets on one busy turn. Most are there before its first token; one in ten joins in
the middle, one in ten leaves and comes back with its cursor. None may lose anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

from bench.client import at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency
from bench.models import answer, plan_of
from bench.sockets import Delta, Seen, Watcher, faults, seen
from bench.stage import Stage

MODEL = "fake-500-d10-f1500"
"""A hundred tokens a second, once everybody had time to subscribe."""
QUICK = "fake-100-d10-f500"
LEAVES_AFTER = 20
PATIENCE_S = 120.0


async def rows(stage: Stage) -> AsyncIterator[Row]:
    count, model = stage.size(500, 50), QUICK if stage.quick else MODEL
    watchers = [Watcher(stage.api.http, stage.api.base) for _ in range(count)]
    await at_a_time(16, count, lambda number: watchers[number].open())
    client_s = time.process_time()
    try:
        with stage.meter() as meter:
            stored = await asyncio.wait_for(_turn(stage, model, watchers), PATIENCE_S)
        client_s = time.process_time() - client_s
    finally:
        await at_a_time(16, count, lambda number: watchers[number].close())
    what = f"{count} sockets on one turn, {model}"
    views = [seen(watcher.frames) for watcher in watchers]
    wrong = [found for found in (list(faults(view, stored)) for view in views) if found]
    yield Row(what, "sockets that lost something", len(wrong), "", Target(0))
    if wrong:
        raise Broken(f"{len(wrong)} of {count} sockets lost something; one: {'; '.join(wrong[0][:3])}")
    delivered = plan_of(model).tokens * count
    if meter.cpu_s is not None:
        note = f"{meter.cpu_s:.2f} s CPU in {meter.wall_s:.2f} s, {delivered:,} delivered"
        yield Row(what, "server CPU per delivered token", 1e6 * meter.cpu_s / delivered, "µs", note=note)
    written = await stage.api.ask("GET", f"{stage.endpoint.base}/written")
    lags = _lags([view for number, view in enumerate(views) if number % 10 > 1], written, plan_of(model).width)
    note = f"client busy {client_s / meter.wall_s:.0%} of the time"
    yield latency(what, "a token's way from the endpoint", lags, note=note)


async def _turn(stage: Stage, model: str, watchers: Sequence[Watcher]) -> str:
    """Run a turn under everybody's eyes; the text that is stored of it."""
    agent = await stage.api.create_agent(model)
    place = await stage.api.create_session(agent)
    turn, running = await stage.api.begin(place, model)
    try:
        await at_a_time(len(watchers), len(watchers), lambda number: _watch(watchers[number], turn, number, model))
    finally:
        await running
    stored = await stage.api.ask("GET", f"{stage.api.session_url(place)}/turn/{turn}")
    text = str(stored["output_message"]["content"])
    if text != answer(model):
        raise Broken(f"{len(text)} characters are stored, the endpoint sent {len(answer(model))}")
    return text


async def _watch(watcher: Watcher, turn: str, number: int, model: str) -> None:
    topic = f"turn:{turn}"
    if number % 10 == 0:
        plan = plan_of(model)
        await asyncio.sleep(plan.first_s + plan.tokens * plan.delay_s / 2)
    elif number % 10 == 1:
        await watcher.watch(topic, frames=LEAVES_AFTER)
        await watcher.close()
        await watcher.open()
    await watcher.watch(topic)


def _lags(views: Sequence[Seen], written: Sequence[float], width: int) -> list[float]:
    """Seconds from the write of a token at the endpoint to its arrival at a socket, for all."""
    return [lag for view in views for delta in view.deltas for lag in _lags_of(delta, written, width)]


def _lags_of(delta: Delta, written: Sequence[float], width: int) -> list[float]:
    first = delta.offset // width
    return [delta.arrived - at for at in written[first : first + len(delta.text) // width]]
