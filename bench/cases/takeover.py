"""A process is killed in the middle of turns: how soon they go on, on one of two others, and on the only one there is
when it is started again. Each turn must end with the whole text."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from bench.client import Api, Place, at_a_time
from bench.faults import Broken
from bench.figures import Row, Target, latency, spread
from bench.models import answer
from bench.server import Launcher, Server, Store
from bench.sockets import Watcher
from bench.stage import Stage

MODEL = "fake-200-d20"
TURNS = 4
"""That a process runs when it is killed."""
KILLED_AFTER = 20
"""Frames of each."""
MOST = Target(2000)
NAME = "takeover"


@dataclass(slots=True)
class Killed:
    """A turn whose process was killed. Times by this machine's clock, in seconds: when it was, and when a watcher saw
    the first token of whoever took it over."""

    killed_at: float
    token_at: float


@dataclass(slots=True)
class Started:
    """A server that was killed and started again: when it was started, when it first answered, and the turns."""

    started_at: float
    ready_at: float
    turns: Sequence[Killed]


async def rows(stage: Stage) -> AsyncIterator[Row]:
    rounds = stage.size(15, 1)
    async for row in _with_others(stage.own(), stage.api, rounds):
        yield row
    for engine, on_postgresql in (("SQLite", False), ("PostgreSQL", True)):
        async for row in _alone(stage.own(), stage.api, Store(f"{NAME}-alone", on_postgresql), engine, rounds):
            yield row


# ------------------------------------------------------------------------------------- three processes


async def _with_others(own: Launcher, any_api: Api, rounds: int) -> AsyncIterator[Row]:
    lost, after_lost, after_kill = [], [], []
    async with own.several(NAME, 2) as (survivor, _):
        agent = await Api(any_api.http, survivor.base).create_agent(MODEL)
        for _ in range(rounds):
            async with own.serve(Store(NAME, True, 2)) as victim:
                turns = await _killed(any_api, agent, victim, survivor)
            ended = await asyncio.to_thread(own.databases.query, NAME, _ended(victim.pid))
            lost_at = float(ended[0][0])
            lost += [lost_at - turn.killed_at for turn in turns[:1]]
            after_lost += [turn.token_at - lost_at for turn in turns]
            after_kill += [turn.token_at - turn.killed_at for turn in turns]
    what = f"one of three processes is killed, {TURNS} turns on it, {rounds} times"
    yield latency(what, "until its lease is known to be lost", lost)
    yield _worst(what, "from then to the next token, at worst", after_lost, MOST)
    yield _worst(what, "from the kill to the next token, at worst", after_kill)


def _ended(pid: int) -> str:
    return f"SELECT ended_at / 1e6 FROM agents_process WHERE pid = {pid} ORDER BY started_at DESC"


async def _killed(any_api: Api, agent: str, victim: Server, survivor: Server) -> list[Killed]:
    """Run turns on one process, kill it, and watch on another what becomes of them."""
    begun, watchers, killed_at = await _kill(any_api, agent, victim, survivor)
    await _watch(watchers, begun)
    await _end(Api(any_api.http, survivor.base), begun, watchers)
    return [_seen(watcher, killed_at) for watcher in watchers]


# ---------------------------------------------------------------------------------------- one process


async def _alone(own: Launcher, any_api: Api, store: Store, engine: str, rounds: int) -> AsyncIterator[Row]:
    async with own.serve(store) as server:
        agent = await Api(any_api.http, server.base).create_agent(MODEL)
    found = [await _restarted(own, any_api, agent, store) for _ in range(rounds)]
    what = f"the only process is killed, {TURNS} turns on it, {rounds} times, {engine}"
    since_start = [turn.token_at - one.started_at for one in found for turn in one.turns]
    since_ready = [turn.token_at - one.ready_at for one in found for turn in one.turns]
    yield latency(
        what, "from its new start to its first healthy reply", [one.ready_at - one.started_at for one in found]
    )
    yield _worst(what, "from there to the next token, at worst", since_ready, MOST)
    yield _worst(what, "from its new start to the next token, at worst", since_start)


async def _restarted(own: Launcher, any_api: Api, agent: str, store: Store) -> Started:
    async with own.serve(store) as server:
        begun, watchers, killed_at = await _kill(any_api, agent, server, server)
    async with own.serve(store) as server:
        ready_at = time.time()
        for watcher in watchers:
            watcher.move(server.base)
        await _watch(watchers, begun)
        await _end(Api(any_api.http, server.base), begun, watchers)
    turns = [_seen(watcher, killed_at) for watcher in watchers]
    return Started(ready_at - server.start_s, ready_at, turns)


# ------------------------------------------------------------------------------------------- watching


@dataclass(slots=True)
class Begun:
    """A turn that runs, and who reads its first stream."""

    place: Place
    turn: str
    reading: asyncio.Task[object]


async def _kill(
    any_api: Api, agent: str, victim: Server, watched_on: Server
) -> tuple[list[Begun], list[Watcher], float]:
    """Begin turns on a process and kill it in their middle; returns them, who watches each, and the time."""
    api = Api(any_api.http, victim.base)
    places = await api.sessions(agent, TURNS)
    begun = await at_a_time(TURNS, TURNS, lambda number: _begin(api, places[number]))
    watchers = [Watcher(api.http, watched_on.base) for _ in begun]
    await _watch(watchers, begun, frames=KILLED_AFTER)
    victim.child.kill()
    return begun, watchers, time.time()


async def _begin(api: Api, place: Place) -> Begun:
    turn, reading = await api.begin(place, MODEL)
    return Begun(place, turn, reading)


async def _watch(watchers: Sequence[Watcher], begun: Sequence[Begun], frames: int | None = None) -> None:
    """Watch each turn in a connection of its own, behind what was seen of it: so many frames, or to its end."""

    async def one(number: int) -> None:
        await watchers[number].open()
        await watchers[number].watch(f"turn:{begun[number].turn}", frames=frames)
        await watchers[number].close()

    await at_a_time(len(begun), len(begun), one)


async def _end(api: Api, begun: Sequence[Begun], watchers: Sequence[Watcher]) -> None:
    """Raises Broken unless every turn has ended with the whole text, and every watcher saw each event once."""
    await asyncio.gather(*(one.reading for one in begun), return_exceptions=True)  # cut with their process
    for one, watcher in zip(begun, watchers, strict=True):
        turn = await api.ask("GET", f"{api.session_url(one.place)}/turn/{one.turn}")
        if turn["output_message"]["content"] != answer(MODEL):
            raise Broken(f"the turn ended with {turn['output_message']['content'][-80:]!r}")
        numbers = [event["seq"] for _, event in _events(watcher) if event["type"] != "delta"]
        if numbers != list(range(len(numbers))):
            raise Broken(f"the events came as {numbers}")


def _events(watcher: Watcher) -> list[tuple[float, dict[str, object]]]:
    """(arrival by the wall clock, event) of all that a watcher saw."""
    ahead = time.time() - time.monotonic()
    return [(at + ahead, event) for at, raw in watcher.frames for event in json.loads(raw).get("events", ())]


def _seen(watcher: Watcher, killed_at: float) -> Killed:
    events = _events(watcher)
    taken = next((number for number, (_, event) in enumerate(events) if event["type"] == "turn.taken_over"), None)
    if taken is None:
        raise Broken("the turn was not taken over: it had ended before its process was killed")
    token_at = next(at for at, event in events[taken:] if event["type"] == "delta")
    return Killed(killed_at, token_at)


def _worst(what: str, figure: str, seconds: Sequence[float], target: Target | None = None) -> Row:
    found = spread(seconds)
    note = f"p50 {found.p50_ms:.0f} ms, {found}"
    return Row(what, figure, max(seconds) * 1000, "ms", target, note=note)
