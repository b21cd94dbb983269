"""Live turns in memory, and the doorbell of changes.

A live turn has a log: an append-only list of events and deltas with readers as cursors. There are
no queues: a slow reader costs nothing and misses nothing, a late one reads from the start. The
doorbell tells readers of lists that something changed; what changed they read from the store.

Everything here belongs to one event loop, apart from `Hub.ring`, which any thread may call. Knows
no database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agents.schemas.events import LAST_TYPES, Delta, Entry

KEEP_S = 30.0
"""How long the log of a finished turn stays in memory for those who are still reading."""
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
    """The log of one leg of a turn that runs in this process. ``first_seq`` is its first event."""

    def __init__(self, turn: int, first_seq: int) -> None:
        super().__init__()
        self.turn = turn
        self.first_seq = first_seq
        self.entries: list[Entry] = []
        self.done = False

    def append(self, entries: Sequence[Entry]) -> None:
        """Add what happened, in order; the events among it have been committed."""
        self.entries.extend(entries)
        last = entries[-1]
        if not isinstance(last, Delta) and last.type in LAST_TYPES:
            self.done = True
        self.wake()

    def finish(self) -> None:
        """Nothing more will come, whatever was last."""
        self.done = True
        self.wake()


class Hub:
    """The live turns of this process, and the listeners of changes."""

    def __init__(self) -> None:
        self._logs: dict[int, TurnLog] = {}
        self._bells: set[Callable[[int, Sequence[tuple[int, int]]], None]] = set()
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
        self._loop.call_later(KEEP_S, self._drop, log)

    def _drop(self, log: TurnLog) -> None:
        if self._logs.get(log.turn) is log:
            del self._logs[log.turn]

    # -------------------------------------------------------------------------------------- changes

    def listen(self, bell: Callable[[int, Sequence[tuple[int, int]]], None]) -> Callable[[], None]:
        """Call ``bell(seq, records)`` on the loop after each commit; returns what ends it."""
        self._bells.add(bell)
        return lambda: self._bells.discard(bell)

    def ring(self, seq: int, records: Sequence[tuple[int, int]]) -> None:
        """Records changed (any thread): ``seq`` is the change feed's number after it."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ring, seq, records)

    def _ring(self, seq: int, records: Sequence[tuple[int, int]]) -> None:
        for bell in list(self._bells):
            bell(seq, records)


hub = Hub()
"""The process's hub."""
