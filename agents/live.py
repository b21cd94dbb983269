"""Follow a turn: what is stored first, then what happens, without a gap between.

A turn that runs in this process is followed in its log in memory; one that ended, or runs
elsewhere, from the store. Reading the store happens on a small pool of threads of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from django.db import close_old_connections

from agents.bus import TurnLog, hub
from agents.models import TurnStatus
from agents.schemas.events import LAST_TYPES, Delta, Entry
from agents.store import replay, turns

T = TypeVar("T")
Cursor = tuple[int, int]
START: Cursor = (-1, 0)

POLL_S = 0.5
"""How often a turn that runs in another process is looked at."""

_readers = ThreadPoolExecutor(4, thread_name_prefix="reader")


async def read(query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Run a read of the store off the loop."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_readers, partial(_read, query, args, kwargs))


def _read(query: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    close_old_connections()
    return query(*args, **kwargs)


def position(entry: Entry) -> Cursor:
    """Where a reader stands once it has seen an entry."""
    return (entry.after, entry.ordinal) if isinstance(entry, Delta) else (entry.seq, 0)


async def follow(
    turn: int, after: Cursor = START, *, until_leg: int | None = None
) -> AsyncGenerator[Sequence[Entry], None]:
    """A turn's entries behind a cursor, in order; an empty list now and then is a sign of life.
    It ends with the leg that event ``until_leg`` belongs to; without one, following goes on over
    waiting and resumes until the turn is final."""
    while True:
        log = hub.get(turn)
        source = _from_memory(log, after) if log and not _is_spent(log, after) else _from_store(turn, after)
        async for batch in source:
            end = None if until_leg is None else _leg_end(batch, until_leg)
            if end is not None:
                yield batch[:end]
                return
            if batch:
                after = position(batch[-1])
            yield batch
        state = await read(turns.state, turn)
        if state is None or (state[1] <= after[0] + 1 and state[0] not in _GOING):
            return
        if state[1] <= after[0] + 1:
            await asyncio.sleep(POLL_S)
            yield ()


_GOING = (TurnStatus.QUEUED, TurnStatus.IN_PROGRESS, TurnStatus.AWAITING_INPUT)


def _is_spent(log: TurnLog, after: Cursor) -> bool:
    """Whether a log has no more to say: what follows, as the end of a turn that waited in vain,
    never went through memory."""
    return log.done and (not log.entries or position(log.entries[-1]) <= after)


def _leg_end(batch: Sequence[Entry], until_leg: int) -> int | None:
    """How many entries of a batch are of the leg with event ``until_leg`` or earlier ones, if the
    leg ends in it."""
    for place, entry in enumerate(batch, start=1):
        if not isinstance(entry, Delta) and entry.seq >= until_leg and entry.type in LAST_TYPES:
            return place
    return None


async def _from_memory(log: TurnLog, after: Cursor) -> AsyncIterator[Sequence[Entry]]:
    earlier: list[Entry] = []
    if log.first_seq > after[0] + 1:  # an earlier leg: that part is in the store only
        stored = await read(replay.load, log.turn, after)
        earlier = [entry for entry in stored if position(entry) < (log.first_seq, 0)]
    place = 0
    while True:
        fresh = log.entries[place:]
        place += len(fresh)
        if fresh and position(fresh[0]) <= after:
            fresh = [entry for entry in fresh if position(entry) > after]
        if earlier:
            earlier, fresh = [], [*earlier, *fresh]
        if fresh or not log.done:
            yield fresh
        if log.done and place == len(log.entries):
            return
        if place == len(log.entries):
            await log.wait()


async def _from_store(turn: int, after: Cursor) -> AsyncIterator[Sequence[Entry]]:
    entries = await read(replay.load, turn, after)
    if entries:
        yield entries
