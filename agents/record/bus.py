"""Logs of live turns in memory, and notifications of changes.

A live turn has a log: the newest of its events and deltas, with readers as cursors. There are no
queues: a slow reader costs nothing and misses nothing, because the log keeps what is not stored yet,
and a reader further behind reads the store. Subscribers are notified that records changed; the
changes themselves they read from the store.

Everything here belongs to one event loop. Knows no database.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence

from agents.record.schemas.events import LAST_ORDINAL, LAST_TYPES, Cursor, Delta, Entry, position, size_of

RETENTION_S = 2.0
"""How long the log of a finished turn stays in memory, for readers near its end."""
MAX_RETAINED = 512
"""Stored entries of a live turn that stay in memory: most readers are no further behind."""
MAX_RETAINED_BYTES = 256 * 1024
"""Bytes of events above which no stored entry stays in memory."""
TICK_S = 5.0
"""How often all waiting readers are woken, to send a keep-alive."""


Take = Callable[[Sequence[Delta]], bool]
"""Takes deltas for a reader that waits; false where the reader is to be woken for them."""


class Waiters:
    """Readers that have read everything and wait for more."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], Take | None] = {}

    def wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def _offer(self, deltas: Sequence[Delta]) -> None:
        """Wake those that do not take these deltas as they wait."""
        for future, take in self._waiting.items():
            if not future.done() and not (take is not None and take(deltas)):
                future.set_result(None)

    async def wait(self, take: Take | None = None) -> None:
        """Wait until something is added that ``take`` has not taken, or a keep-alive is due."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = take
        try:
            await future
        finally:
            self._waiting.pop(future, None)


class TurnLog(Waiters):
    """The newest entries of one response of a turn: all that are not stored yet, and a few stored ones. It begins
    after the cursor ``after``. ``on_entries`` is called whenever there are more, or the log is done."""

    def __init__(self, turn: int, after: Cursor, on_entries: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self.turn = turn
        self.done = False
        self.stored = after
        self._entries: list[Entry] = []
        self._floor = self.stored
        self._event_bytes = 0
        self._on_entries = on_entries

    @property
    def end(self) -> Cursor:
        """The cursor of a reader that has seen all entries."""
        return position(self._entries[-1]) if self._entries else self._floor

    def append_deltas(self, deltas: Sequence[Delta]) -> None:
        """Add deltas in order."""
        self._entries += deltas
        self._offer(deltas)
        self._report()

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries in order; the events among them have been committed."""
        self._entries += entries
        self._event_bytes += sum(size_of(entry) for entry in entries if not isinstance(entry, Delta))
        if self._ends_with(entries[-1]):
            self.done = True
        self._tell()

    def _ends_with(self, entry: Entry) -> bool:
        return not isinstance(entry, Delta) and entry.type in LAST_TYPES

    def _tell(self) -> None:
        self.wake()
        self._report()

    def _report(self) -> None:
        if self._on_entries is not None:
            self._on_entries(self.turn)

    def mark_stored(self, upto: Cursor) -> None:
        """Tell that entries up to a cursor are stored: only the newest of them stay, and none if they are large."""
        self.stored = max(self.stored, upto)
        is_heavy = self._event_bytes > MAX_RETAINED_BYTES
        if not is_heavy and len(self._entries) <= 2 * MAX_RETAINED:
            return
        count = min(self._index_after(upto), len(self._entries) - (0 if is_heavy else MAX_RETAINED))
        if count > 0:
            self._floor = position(self._entries[count - 1])
            del self._entries[:count]
            self._event_bytes = sum(size_of(entry) for entry in self._entries if not isinstance(entry, Delta))

    def entries_after(self, after: Cursor, limit: int) -> Sequence[Entry] | None:
        """Return the next entries after a cursor, at most ``limit``; None for a reader that is too far behind and must
        read the store."""
        if after < self._floor:
            return None
        entries = self._entries
        # nearly all readers have seen all, or lack the newest only
        if not entries or after >= position(entries[-1]):
            return ()
        if len(entries) > 1 and after >= position(entries[-2]):
            return entries[-1:]
        start = self._index_after(after)
        return entries[start : start + limit]

    def _index_after(self, after: Cursor) -> int:
        return bisect_right(self._entries, after, key=position)

    def finish(self) -> None:
        """Mark the log as done, whatever its last entry is."""
        self.done = True
        self._tell()


Subscriber = Callable[[int, Sequence[tuple[int, int]], int], None]
"""Is told of changes: their number in the change feed, the records, and the number up to which it was told of all."""


class Hub:
    """The live turns of this process, and the subscribers of changes."""

    def __init__(self) -> None:
        self._logs: dict[int, TurnLog] = {}
        self._log_listeners: list[Callable[[int], None]] = []
        self._subscribers: set[Subscriber] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticker: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Bind the hub to the running loop."""
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

    def open(self, turn: int, first_seq: int, *, taken_over: bool = False) -> TurnLog:
        """Create the log of a response whose next event is ``first_seq``: of one that begins, or of one that is taken
        over. In that case a reader may lack some of what was typed before: it reads the store."""
        after = (first_seq - 1, LAST_ORDINAL if taken_over else 0)
        log = self._logs[turn] = TurnLog(turn, after, self._on_entries)
        return log

    def _on_entries(self, turn: int) -> None:
        for callback in self._log_listeners:
            callback(turn)

    def listen_to_logs(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call ``callback(turn)`` whenever a turn's log has more entries, or is done: on the loop, and for each token.
        Returns the function that ends it."""
        self._log_listeners.append(callback)
        return lambda: self._log_listeners.remove(callback)

    def get(self, turn: int) -> TurnLog | None:
        return self._logs.get(turn)

    def retire(self, log: TurnLog) -> None:
        """Drop a finished log after `RETENTION_S`; the store has all of it."""
        assert self._loop is not None  # a log exists only after start
        self._loop.call_later(RETENTION_S, self._drop, log)

    def _drop(self, log: TurnLog) -> None:
        if self._logs.get(log.turn) is log:
            del self._logs[log.turn]

    # -------------------------------------------------------------------------------------- changes

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call ``callback(seq, records, told)``, see `notify`, on the loop after each commit; returns the function that
        unsubscribes."""
        self._subscribers.add(callback)
        return lambda: self._subscribers.discard(callback)

    def notify(self, seq: int, records: Sequence[tuple[int, int]], told: int | None = None) -> None:
        """Tell the subscribers, soon and on the loop, that records changed: ``seq`` is the change feed's number after
        it. With this call they have been told of all changes up to number ``told`` (None: ``seq``); between the two may
        be changes of other processes that they have not been told of yet."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon(self._notify, seq, records, seq if told is None else told)

    def _notify(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        for callback in list(self._subscribers):
            callback(seq, records, told)


hub = Hub()
"""The process's hub."""
