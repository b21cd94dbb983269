"""Divides a limited number of slots fairly between callers.

A *caller* is a key, or a user without one. It may take a slot while it holds less than ``share`` times as
many as are free: with the usual four it alone gets at most four fifths of them, two get four ninths each,
and the next caller still finds one. The same rule holds for the queue. The next in the queue is chosen first
between callers (who holds least, then who waited longest), then between the kinds of slots which that caller
waits for, in turn.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from agents.base.errors import RateLimited

T = TypeVar("T")

SHARE = 4
"""A caller may hold up to this many times the number of free slots."""

Caller = Hashable
"""For an actor its `caller`."""

caller: ContextVar[Caller] = ContextVar("caller", default=None)
"""The caller that work is done for: it decides the order of work and nothing else. None for the server itself."""


def may_hold_more(held: float, free: float, share: float = SHARE) -> bool:
    """Tell whether a caller that holds so much may have more."""
    return held < share * free


class FairQueue(Generic[T]):
    """A queue for each caller, served in turn. Not thread-safe: users with several threads hold a lock."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Caller, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def put(self, caller: Caller, item: T) -> None:
        self._lines.setdefault(caller, deque()).append(item)

    def put_back(self, caller: Caller, item: T) -> None:
        """Put back an item that was taken, as the next one."""
        self._lines.setdefault(caller, deque()).appendleft(item)
        self._lines.move_to_end(caller, last=False)

    def take(self) -> T:
        """Remove and return the next item. Raises StopIteration if there is none."""
        caller, line = next(iter(self._lines.items()))
        item = line.popleft()
        if line:
            self._lines.move_to_end(caller)
        else:
            del self._lines[caller]
        return item


class FairPool(ThreadPoolExecutor):
    """A thread pool whose callers (`caller`) take turns."""

    def __init__(self, threads: int, name: str) -> None:
        super().__init__(threads, thread_name_prefix=name)
        self._waiting: FairQueue[Callable[[], None]] = FairQueue()
        self._turns = threading.Lock()

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        with self._turns:
            self._waiting.put(caller.get(), partial(_run, future, partial(call, *args, **kwargs)))
        super().submit(self._next)
        return future

    def _next(self) -> None:
        with self._turns:
            run = self._waiting.take()
        run()


def _run(future: Future[T], call: Callable[[], T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - the caller gets it from the future
        future.set_exception(error)


@dataclass(eq=False, slots=True)
class Slot:
    """A slot of a caller, of a kind. A ``queued`` one had to wait; ``on_granted`` is called once it is granted."""

    caller: Caller
    kind: Hashable = None
    queued: bool = False
    granted: bool = False
    on_granted: Callable[[], object] | None = None
    released: bool = False


class Shares(ABC):
    """A number of slots, and a bounded queue for them. Thread-safe."""

    def __init__(self, capacity: int, queue_capacity: int = 0, *, share: float = SHARE) -> None:
        self._capacity, self._queue_capacity, self._share = capacity, queue_capacity, share
        self._held: Counter[Caller] = Counter()
        self._waiting: Counter[Caller] = Counter()
        self._line: OrderedDict[Caller, OrderedDict[Hashable, deque[Slot]]] = OrderedDict()
        self._lock = threading.Lock()

    def enter(self, caller: Caller, kind: Hashable = None, *, may_wait: bool = True, admitted: bool = False) -> Slot:
        """Take a slot, granted at once or queued; the caller must `leave` it. Raises RateLimited where the caller has
        too many, unless this work was ``admitted`` before."""
        slot = Slot(caller, kind)
        with self._lock:
            self._enter(slot, may_wait, admitted)
        return slot

    @contextmanager
    def entered(self, caller: Caller, kind: Hashable = None, *, may_wait: bool = True) -> Iterator[Slot]:
        """Take a slot for a block. It is left if the block fails; else whoever continues the work must leave it."""
        slot = self.enter(caller, kind, may_wait=may_wait)
        try:
            yield slot
        except BaseException:
            self.leave(slot)
            raise

    def when_granted(self, slot: Slot, on_granted: Callable[[], object]) -> bool:
        """Tell whether a slot is granted; if not, ``on_granted`` is called when it is, from any thread."""
        with self._lock:
            slot.on_granted = on_granted
            return slot.granted

    def leave(self, slot: Slot) -> None:
        """Give a slot back, granted or queued. Calling it twice is harmless."""
        with self._lock:
            if slot.released:
                return
            slot.released = True
            if slot.granted:
                _decrement(self._held, slot.caller)
            else:
                self._line[slot.caller][slot.kind].remove(slot)
                self._tidy(slot.caller, slot.kind)
            granted = self._fill()
        for other in granted:
            if other.on_granted is not None:
                other.on_granted()

    @property
    def held(self) -> int:
        """The number of slots that are taken."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """The length of the queue."""
        return self._waiting.total()

    @abstractmethod
    def refusal(self, held: int, waiting: int) -> RateLimited:
        """Return the error for a caller that holds so many slots and has so many queued."""

    # ------------------------------------------------------------------------------- under the lock

    def _enter(self, slot: Slot, may_wait: bool, admitted: bool) -> None:
        caller = slot.caller
        held, waiting = self._held.get(caller, 0), self._waiting.get(caller, 0)
        if not waiting and self._may_hold(caller):
            self._grant(slot)
        elif admitted or (may_wait and may_hold_more(waiting, self._queue_capacity - self._waiting.total())):
            slot.queued = True
            self._line.setdefault(caller, OrderedDict()).setdefault(slot.kind, deque()).append(slot)
            self._waiting[caller] += 1
        else:
            raise self.refusal(held, waiting)

    def _may_hold(self, caller: Caller) -> bool:
        return may_hold_more(self._held.get(caller, 0), self._capacity - self._held.total(), self._share)

    def _grant(self, slot: Slot) -> None:
        slot.granted = True
        self._held[slot.caller] += 1

    def _fill(self) -> list[Slot]:
        """Grant slots to the queue while possible, and return them."""
        out = []
        while (caller := self._next()) is not None:
            kind, line = next(iter(self._line[caller].items()))
            slot = line.popleft()
            self._line.move_to_end(caller)
            self._line[caller].move_to_end(kind)
            self._tidy(caller, kind)
            self._grant(slot)
            out.append(slot)
        return out

    def _next(self) -> Caller | None:
        able = [caller for caller in self._line if self._may_hold(caller)]
        return min(able, key=lambda caller: self._held.get(caller, 0), default=None)

    def _tidy(self, caller: Caller, kind: Hashable) -> None:
        """Account for a slot that left the queue."""
        kinds = self._line[caller]
        if not kinds[kind]:
            del kinds[kind]
        if not kinds:
            del self._line[caller]
        _decrement(self._waiting, caller)


def _decrement(counted: Counter[Caller], caller: Caller) -> None:
    """Subtract one, and drop a caller that has none left."""
    counted[caller] -= 1
    if not counted[caller]:
        del counted[caller]
