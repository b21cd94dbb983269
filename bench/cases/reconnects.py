"""A turn's event stream, read by someone whose connection keeps breaking: every time it is resumed
by ``Last-Event-ID``, and in the end no character may be missing or there twice."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

from bench.client import at_a_time
from bench.faults import Broken
from bench.figures import Row, latency
from bench.models import answer
from bench.stage import Stage
from bench.streams import Frame, blocks, frame_of

MODEL = "fake-200-d10"
READERS = 8
TOKENS_A_TIME = 15


async def rows(stage: Stage) -> AsyncIterator[Row]:
    agent = await stage.api.create_agent(MODEL)
    place = await stage.api.create_session(agent)
    turn, running = await stage.api.begin(place, MODEL)
    url = f"{stage.api.session_url(place)}/turn/{turn}/events"
    try:
        waits = await at_a_time(READERS, READERS, lambda _: _read_in_pieces(stage, url))
    finally:
        await running
    note = f"{READERS} readers, {TOKENS_A_TIME} tokens at a time, nothing lost"
    what = f"event stream reconnects, {MODEL}"
    yield latency(what, "first frame, running turn", [wait for reader in waits for wait in reader], note=note)
    ended = [wait for _ in range(3) for wait in await _read_in_pieces(stage, url)]
    yield latency(what, "first frame, ended turn", ended)


async def _read_in_pieces(stage: Stage, url: str) -> list[float]:
    """Read a turn to its end in as many connections as it takes; the wait for the first frame of
    each. Raises Broken unless the pieces make up the answer."""
    waits, text, cursor = [], "", ""
    while True:
        began = time.monotonic()
        wait, frames = await _piece(stage, url, cursor, began)
        waits.append(wait)
        text += "".join(frame.text for frame in frames)
        cursor = frames[-1].cursor
        if frames[-1].kind == "turn_complete":
            break
    if text != answer(MODEL):
        raise Broken(f"the pieces add up to {len(text)} characters, not {len(answer(MODEL))}")
    return waits


async def _piece(stage: Stage, url: str, cursor: str, began: float) -> tuple[float, list[Frame]]:
    frames: list[Frame] = []
    first = 0.0
    headers = {"Last-Event-ID": cursor} if cursor else {}
    async with stage.api.open("GET", url, headers=headers) as response:
        async for arrived, found in blocks(response):
            for frame in map(frame_of, found):
                first = first or arrived - began
                frames.append(frame)
                if sum(bool(frame.text) for frame in frames) == TOKENS_A_TIME:
                    response.close()
                    return first, frames
    if not frames:
        raise Broken(f"nothing came behind {cursor or 'the start'}")
    return first, frames
