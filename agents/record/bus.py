"""Live turns in memory, and the doorbell of changes.

A live turn has a log: the newest of its events and deltas, with readers as cursors. There are no
queues: a slow reader costs nothing and misses nothing, because the log keeps what is not stored yet,
and whoever is further behind reads the store. The doorbell tells readers of lists that something
changed; what changed they read from the store.

Everything here belongs to one event loop, apart from `Hub.ring`, which any thread may call. Knows
no database.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence

from agents.record.schemas.events import LAST_TYPES, Cursor, Delta, Entry, position, size_of

RETENTION_S = 2.0
"""How long the log of a finished turn stays in memory, for those who have read all but its end."""
MAX_RETAINED = 512
"""Entries of a live turn that stay in memory although they are stored: most readers are no further behind."""
MAX_RETAINED_BYTES = 256 * 1024
"""Bytes of events that stay so."""
TICK_S = 5.0
"""Every so often all waiting readers are woken, to send a sign of life."""


class Waiters:
    """Readers that have read everything, until there is more."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    async def wait(self) -> None:
        """Until something is added, or a sign of life is due."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)


class TurnLog(Waiters):
    """The newest entries of one leg of a turn that runs in this process: all that is not stored yet, and a few
    of those that are. ``first_seq`` is the leg's first event."""

    def __init__(self, turn: int, first_seq: int) -> None:
        super().__init__()
        self.turn = turn
        self.done = False
        self._entries: list[Entry] = []
        self._floor = (first_seq - 1, 0)
        self._event_bytes = 0

    def append(self, entries: Sequence[Entry]) -> None:
        """Add what happened, in order; the events among it have been committed."""
        self._entries.extend(entries)
        self._event_bytes += sum(size_of(entry) for entry in entries if not isinstance(entry, Delta))
        last = entries[-1]
        if not isinstance(last, Delta) and last.type in LAST_TYPES:
            self.done = True
        self.wake()

    def mark_stored(self, upto: Cursor) -> None:
        """Entries up to here can be read from the store: of these only the newest stay, and none where they
        hold much."""
        is_heavy = self._event_bytes > MAX_RETAINED_BYTES
        if not is_heavy and len(self._entries) <= 2 * MAX_RETAINED:
            return
        count = min(self._index_after(upto), len(self._entries) - (0 if is_heavy else MAX_RETAINED))
        if count > 0:
            self._floor = position(self._entries[count - 1])
            del self._entries[:count]
            self._event_bytes = sum(size_of(entry) for entry in self._entries if not isinstance(entry, Delta))

    def entries_after(self, after: Cursor, limit: int) -> Sequence[Entry] | None:
        """The next entries behind a cursor, at most so many; None for a reader that is too far behind: what
        it needs is in the store."""
        if after < self._floor:
            return None
        start = self._index_after(after)
        return self._entries[start : start + limit]

    def _index_after(self, after: Cursor) -> int:
        return bisect_right(self._entries, after, key=position)

    def finish(self) -> None:
        """Nothing more will come, whatever was last."""
        self.done = True
        self.wake()


class Hub:
    """The live turns of this process, and the listeners of changes."""

    def __init__(self) -> None:
        self._logs: dict[int, TurnLog] = {}
        self._subscribers: set[Callable[[int, Sequence[tuple[int, int]]], None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticker: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Belong to the running loop from now on."""
        self._loop = asyncio.get_running_loop()
        self._tick()

    def stop(self) -> None:
        if self._ticker:
            self._ticker.cancel()
        for log in self._logs.values():
            log.finish()

    def _tick(self) -> None:
        assert self._loop is not None  # set by start
        for log in self._logs.values():
            log.wake()
        self._ticker = self._loop.call_later(TICK_S, self._tick)

    # ---------------------------------------------------------------------------------------- turns

    def open(self, turn: int, first_seq: int) -> TurnLog:
        """A fresh log for a leg that begins."""
        log = self._logs[turn] = TurnLog(turn, first_seq)
        return log

    def get(self, turn: int) -> TurnLog | None:
        return self._logs.get(turn)

    def retire(self, log: TurnLog) -> None:
        """Forget a finished log after a while; the store has it all."""
        assert self._loop is not None  # a log exists only after start
        self._loop.call_later(RETENTION_S, self._drop, log)

    def _drop(self, log: TurnLog) -> None:
        if self._logs.get(log.turn) is log:
            del self._logs[log.turn]

    # -------------------------------------------------------------------------------------- changes

    def subscribe(self, callback: Callable[[int, Sequence[tuple[int, int]]], None]) -> Callable[[], None]:
        """Call ``bell(seq, records)`` on the loop after each commit; returns what ends it."""
        self._subscribers.add(callback)
        return lambda: self._subscribers.discard(callback)

    def notify(self, seq: int, records: Sequence[tuple[int, int]]) -> None:
        """Records changed (any thread): ``seq`` is the change feed's number after it."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._notify, seq, records)

    def _notify(self, seq: int, records: Sequence[tuple[int, int]]) -> None:
        for callback in list(self._subscribers):
            callback(seq, records)


hub = Hub()
"""The process's hub."""
