"""Follows a turn: first its stored entries, then the live ones, without a gap between.

A reader of a turn that runs in this process reads its log in memory. One that is further behind than
that log, or whose turn ended or runs in another process, reads the store in batches: nothing is queued
in memory for a reader. The store is read on a small pool of threads of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import TypeVar

from agents.base.reading import read
from agents.record.bus import TurnLog, hub
from agents.record.models.choices import TurnStatus
from agents.record.schemas.events import LAST_TYPES, START, Cursor, Delta, Entry, position
from agents.record.store import replay, turns

T = TypeVar("T")

POLL_S = 0.5
"""How often a turn that runs in another process is polled."""
MAX_BATCH = 256
"""Most entries that a reader gets at once."""


async def follow(
    turn: int, after: Cursor = START, *, until_response: int | None = None, limit: int = MAX_BATCH
) -> AsyncGenerator[Sequence[Entry], None]:
    """Yield a turn's entries after a cursor, in order, at most ``limit`` at once; empty batches are keep-alives. It
    ends with the response that event number ``until_response`` belongs to; without one it goes on over waiting and
    resumes until the turn is final."""
    while True:
        log = hub.get(turn)
        entries = log.entries_after(after, limit) if log else None
        if log and not log.done and entries is not None and not entries:
            yield ()
            await _wait_for_more(log, after)
            continue
        # the end of a turn that waited in vain never went through memory
        if not entries:
            entries = await read(replay.window, turn, after)
        for batch in _batches(entries, limit):
            end = None if until_response is None else _response_end(batch, until_response)
            if end is not None:
                yield batch[:end]
                return
            after = position(batch[-1])
            yield batch
        if entries:
            continue
        state = await read(turns.state, turn)
        if state is None or (state[1] <= after[0] + 1 and state[0] not in _UNFINISHED):
            return
        if state[1] <= after[0] + 1:
            await asyncio.sleep(POLL_S)
            yield ()


_UNFINISHED = (TurnStatus.QUEUED, TurnStatus.IN_PROGRESS, TurnStatus.AWAITING_INPUT)


async def _wait_for_more(log: TurnLog, after: Cursor) -> None:
    """Wait for entries after a cursor, or for a keep-alive. Checks again first: some may have arrived since the caller
    looked."""
    remaining = log.entries_after(after, 1)
    if remaining is not None and not remaining and not log.done:
        await log.wait()


def _batches(entries: Sequence[Entry], limit: int) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(entries), limit):
        yield entries[start : start + limit]


def _response_end(batch: Sequence[Entry], until_response: int) -> int | None:
    """Return how many entries of a batch belong to the response with event ``until_response`` or earlier ones; None
    if the response does not end in the batch."""
    for count, entry in enumerate(batch, start=1):
        if not isinstance(entry, Delta) and entry.seq >= until_response and entry.type in LAST_TYPES:
            return count
    return None
