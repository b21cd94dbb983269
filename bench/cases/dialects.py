"""What the same tokens cost in other dialects, in pairs: responses over sockets beside those over server-sent events,
and the open stream of a session of OpenAI's Agents API beside the streams of Llama Stack's turns. And what a socket
takes that nothing is asked on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from statistics import median

from bench.cases.streaming import WARM_UP, crowd
from bench.client import Place, at_a_time, check_answers, check_responses
from bench.dialects import ResponseSocket, SessionEvents, response_socket, session_events
from bench.faults import Skipped
from bench.figures import Row, Target, latency
from bench.processes import memory_mb
from bench.stage import Stage
from bench.streams import Timing

SHORT, LONG, WIDTH = 200, 2000, 8
MODEL, LONG_MODEL = f"fake-{SHORT}", f"fake-{LONG}"
"""What the second takes more is what its tokens take: a turn of a session is a request of its own beside the stream."""
SETTLE_S = 3.0
Load = Callable[[Stage, str, int], Awaitable[list[Timing]]]
"""So many streams of each of ``WIDTH`` clients, of a model."""


async def rows(stage: Stage) -> AsyncIterator[Row]:
    if stage.server_pid is None:
        raise Skipped("the server's process is not known")
    yield await _first_event(stage)
    what, figure = f"response, {MODEL}, {crowd(WIDTH)}", "server CPU per token, socket / SSE"
    costs = await _costs(stage, (_over_sse, _over_sockets), MODEL)
    yield _compared(what, figure, [(this / SHORT, that / SHORT) for this, that in costs], Target(0.9))
    loads = (_turns, _session_turns)
    shorter, longer = await _costs(stage, loads, MODEL), await _costs(stage, loads, LONG_MODEL)
    what, figure = f"turns of a session, {MODEL}, {crowd(WIDTH)}", "server CPU per token, open stream / a stream each"
    yield _compared(what, figure, [(this / SHORT, that / SHORT) for this, that in shorter], None)
    what, figure = f"the same, {LONG_MODEL}", "server CPU for each token more"
    this_less, that_less = map(median, zip(*shorter, strict=True))
    more = LONG - SHORT
    marginal = [((this - this_less) / more, (that - that_less) / more) for this, that in longer]
    yield _compared(what, figure, marginal, Target(1.1))
    yield await _idle(stage, stage.server_pid, stage.size(1000, 100))


async def _over_sse(stage: Stage, model: str, each: int) -> list[Timing]:
    timings = await at_a_time(WIDTH, WIDTH * each, lambda _: stage.api.response(model))
    check_responses(timings, model)
    return timings


async def _over_sockets(stage: Stage, model: str, each: int) -> list[Timing]:
    async def ask(socket: ResponseSocket) -> list[Timing]:
        return await at_a_time(1, each, lambda _: socket.response(model))

    async with AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(response_socket(stage.api)) for _ in range(WIDTH)]
        return _joined(await asyncio.gather(*map(ask, sockets)))


async def _turns(stage: Stage, model: str, each: int) -> list[Timing]:
    async def ask(place: Place) -> list[Timing]:
        return await at_a_time(1, each, lambda _: stage.api.turn(place, model))

    places = await stage.api.sessions(await stage.api.create_agent(model), WIDTH)
    timings = _joined(await asyncio.gather(*map(ask, places)))
    check_answers(timings, model)
    return timings


async def _session_turns(stage: Stage, model: str, each: int) -> list[Timing]:
    async def ask(events: SessionEvents) -> list[Timing]:
        return [events.first, *await at_a_time(1, each - 1, lambda _: events.turn(model))]

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(session_events(stage.api, model)) for _ in range(WIDTH)]
        return _joined(await asyncio.gather(*map(ask, opened)))


def _joined(parts: Sequence[list[Timing]]) -> list[Timing]:
    return [timing for part in parts for timing in part]


async def _costs(stage: Stage, loads: tuple[Load, Load], model: str) -> list[tuple[float, float]]:
    """Return what a stream of each load takes, in pairs: microseconds of the server's CPU."""
    for load in loads:  # to be warm
        await load(stage, model, 2)
    return [(await _cost(stage, loads[0], model), await _cost(stage, loads[1], model)) for _ in range(stage.size(9, 1))]


async def _cost(stage: Stage, load: Load, model: str) -> float:
    with stage.meter() as meter:
        timings = await load(stage, model, stage.size(16, 4))
    assert meter.cpu_s is not None  # the process is known
    return 1e6 * meter.cpu_s / len(timings)


def _compared(what: str, figure: str, per_token: Sequence[tuple[float, float]], target: Target | None) -> Row:
    ratios = [that / this for this, that in per_token]
    this, that = map(median, zip(*per_token, strict=True))
    note = f"{that:.1f} and {this:.1f} µs; {len(ratios)} pairs, {min(ratios):.2f} to {max(ratios):.2f}"
    return Row(what, figure, median(ratios), "×", target, note=note)


async def _first_event(stage: Stage) -> Row:
    async with response_socket(stage.api) as socket:
        await at_a_time(1, WARM_UP, lambda _: socket.response(MODEL))
        timings = await at_a_time(1, stage.size(64, 16), lambda _: socket.response(MODEL))
    seconds = [timing.first_event_s for timing in timings]
    return latency(f"response over a socket, {MODEL}, alone", "first event", seconds, Target(6, commits=1))


async def _idle(stage: Stage, pid: int, count: int) -> Row:
    async with response_socket(stage.api) as socket:
        await socket.response(MODEL)
    before = memory_mb(pid)
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(response_socket(stage.api))
        await asyncio.sleep(SETTLE_S)
        more = memory_mb(pid) - before
    what, note = f"{count:,} sockets of responses that nothing is asked on", f"{1024 * more / count:.1f} KB each"
    return Row(what, "memory", more, "MB", Target(40), note=note)
