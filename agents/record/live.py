"""Follows a turn: first its stored entries, then the live ones, without a gap between.

A reader of a turn that runs in this process reads its log in memory; of one that runs in another process, or waits
for its client, a mirror of that log (`agents.record.mirrors`). One that is further behind than that, or whose turn
has ended, reads the store in batches: nothing is queued in memory for a reader.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, aclosing
from functools import partial

from agents.base.store import failures
from agents.record.bus import Take, TurnLog
from agents.record.mirrors import HEAL_S, Mirror, Mirrors, mirrors
from agents.record.models.choices import TurnStatus
from agents.record.schemas.events import START, Cursor, Delta, Entry, TurnEnded, ends_response, position
from agents.record.stored_turns import TurnState

MAX_BATCH = 256
"""Most entries that a reader gets at once."""
RETRY_S = 1.0
"""How long a reader waits before it reads again from a store that was unavailable."""

_UNFINISHED = (TurnStatus.QUEUED, TurnStatus.IN_PROGRESS, TurnStatus.AWAITING_INPUT)


class Followers:
    """The readers of live turns in a process, which share its logs and ``mirrors``."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors

    async def follow(
        self,
        turn: int,
        after: Cursor = START,
        *,
        until_response: int | None = None,
        with_following: bool = False,
        limit: int = MAX_BATCH,
        take: Take | None = None,
    ) -> AsyncGenerator[Sequence[Entry], None]:
        """Yield a turn's entries after a cursor, in order, at most ``limit`` at once; empty batches are keep-alives. It
        ends with the response that event number ``until_response`` belongs to, or with those that follow it because
        its client steers it; without one it goes on over waiting and resumes until the turn is final. Once it has begun
        it waits for a store that is unavailable. While it waits for more, ``take`` is offered deltas, at most ``limit``
        at once, right where they arrive; those it takes are not yielded."""
        async with aclosing(self._all_entries(turn, _Place(after, limit, take))) as batches:
            async for batch in batches:
                end = None if until_response is None else _response_end(batch, until_response, with_following)
                if end is not None:
                    yield batch[:end]
                    return
                yield batch

    async def _all_entries(self, turn: int, place: _Place) -> AsyncGenerator[Sequence[Entry], None]:
        mirror: Mirror | None = None
        with ExitStack() as watching:
            while True:
                log = self._log_in_memory(turn, mirror)
                entries = log.entries_after(place.after, place.limit) if log else None
                has_all = entries is not None and not entries
                if log and not log.done and has_all:
                    yield ()
                    await _wait_for_more(log, place, partial(self._log_in_memory, turn, mirror))
                    continue
                if has_all and isinstance(place.last, TurnEnded):
                    return
                state: TurnState | None = None
                # the end of a turn that waited in vain never went through memory
                if not entries:
                    stored = await self._stored(turn, place.after, waits=place.last is not None)
                    if stored is None:
                        yield ()
                        await asyncio.sleep(RETRY_S)
                        continue
                    entries, state = stored
                for start in range(0, len(entries), place.limit):
                    batch = entries[start : start + place.limit]
                    place.move_to(batch[-1])
                    yield batch
                if entries or (state and state[1] > place.after[0] + 1):
                    continue
                if state is None or state[0] not in _UNFINISHED:
                    return
                if mirror is None or mirror.log.done:
                    watching.close()
                    mirror = watching.enter_context(self._mirrors.watched(turn, place.after))
                else:  # what it has forgotten is not stored yet
                    await asyncio.sleep(HEAL_S)
                yield ()

    async def _stored(
        self, turn: int, after: Cursor, *, waits: bool
    ) -> tuple[Sequence[Entry], TurnState | None] | None:
        """Read the next stored entries; with none the state of the turn. None where the store is unavailable and the
        reader ``waits`` for it: a stream that has begun can give no other answer, and would end without a word."""
        try:
            entries = await self._mirrors.stored.window(turn, after)
            return entries, None if entries else await self._mirrors.stored.state(turn)
        except Exception as error:  # raised again, whatever it is, unless the store is only unavailable
            if waits and failures.unavailable(error, f"turn={turn}") is not None:
                return None
            raise

    def _log_in_memory(self, turn: int, mirror: Mirror | None) -> TurnLog | None:
        log = self._mirrors.hub.get(turn)
        return mirror.log if mirror and (log is None or log.done) else log


class _Place:
    """Where a reader is in a turn: after which cursor, and after which entry, if it has had one."""

    def __init__(self, after: Cursor, limit: int, take: Take | None) -> None:
        self.after, self.limit, self._take = after, limit, take
        self.last: Entry | None = None

    def move_to(self, entry: Entry) -> None:
        self.last = entry
        self.after = position(entry)

    def take(self, deltas: Sequence[Delta]) -> bool:
        """Take deltas, while the reader waits for them. It may be further than a log is that lags behind the store."""
        if self._take is None or len(deltas) > self.limit or position(deltas[0]) <= self.after:
            return False
        if not self._take(deltas):
            return False
        self.move_to(deltas[-1])
        return True


async def _wait_for_more(log: TurnLog, place: _Place, current: Callable[[], TurnLog | None]) -> None:
    """Wait for entries that are not taken, or for a keep-alive. Checks again first: some may have arrived since the
    caller looked. What is typed into a log that is not the ``current`` one any more is not taken: another run has
    begun."""
    remaining = log.entries_after(place.after, 1)
    if remaining is not None and not remaining and not log.done:
        await log.wait(lambda deltas: current() is log and place.take(deltas))


def _response_end(batch: Sequence[Entry], until_response: int, with_following: bool) -> int | None:
    """Return how many entries of a batch belong to the response with event ``until_response`` or earlier ones; None
    if the response does not end in the batch."""
    for at, entry in enumerate(batch, start=1):
        # asked here first, too: nearly all of them are deltas
        if not isinstance(entry, Delta) and ends_response(entry, until_response, with_following):
            return at
    return None


follow = Followers(mirrors).follow
