"""Slots for running turns, and the line before them: everybody's share is fair.

Who asks is a *caller*: a key, or a user without one. A caller may take a slot while it holds less than
four times as many as are free, so that it alone gets at most four fifths of them, two get four ninths
each, and whoever comes next finds one. In line the same holds. Who comes next is decided first between
callers (who runs least, then who waited longest), then between the agents of that caller, one after
the other.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.errors import RateLimited

SHARE = 4
"""How many times as many as are free a caller may hold."""
RETRY_AFTER_S = 5

Caller = tuple[int | None, int | None]
"""The ids of a user and of the key it uses."""


@dataclass(eq=False, slots=True)
class Slot:
    """What a turn holds from its request to its end. One that is ``queued`` stands in line at first; ``tell``
    is called once it is granted."""

    caller: Caller
    agent: int | None
    queued: bool = False
    granted: bool = False
    tell: Callable[[], object] | None = None
    left: bool = False


class Slots:
    """All of a process. May be asked from any thread."""

    def __init__(self, running: int, waiting: int) -> None:
        self._most_running, self._most_waiting = running, waiting
        self._running: Counter[Caller] = Counter()
        self._waiting: Counter[Caller] = Counter()
        self._line: OrderedDict[Caller, OrderedDict[int | None, deque[Slot]]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def entered(self, actor: Actor, agent: int | None) -> Iterator[Slot]:
        """A slot for a turn of an agent, at once or in line; it is left where the block fails, and else the
        run's to leave. Raises RateLimited where the caller has too many in line already."""
        slot = Slot((actor.user_id, actor.key_id), agent)
        with self._lock:
            self._enter(slot, may_wait=True)
        try:
            yield slot
        except BaseException:
            self.leave(slot)
            raise

    @contextmanager
    def held(self, actor: Actor) -> Iterator[None]:
        """A slot for as long as the block lasts, for what cannot wait in line. Raises RateLimited."""
        slot = Slot((actor.user_id, actor.key_id), None)
        with self._lock:
            self._enter(slot, may_wait=False)
        try:
            yield
        finally:
            self.leave(slot)

    def when_granted(self, slot: Slot, tell: Callable[[], object]) -> bool:
        """Whether a slot is granted; if not, ``tell`` is called when it is, from any thread."""
        with self._lock:
            slot.tell = tell
            return slot.granted

    def leave(self, slot: Slot) -> None:
        """The turn is over, or waits no longer. May be said twice."""
        with self._lock:
            if slot.left:
                return
            slot.left = True
            if slot.granted:
                self._running[slot.caller] -= 1
            else:
                self._line[slot.caller][slot.agent].remove(slot)
                self._tidy(slot.caller, slot.agent)
            granted = self._fill()
        for each in granted:
            if each.tell is not None:
                each.tell()

    # ------------------------------------------------------------------------------- under the lock

    def _enter(self, slot: Slot, *, may_wait: bool) -> None:
        caller = slot.caller
        if not self._waiting[caller] and self._may_run(caller):
            self._grant(slot)
        elif may_wait and _may(self._waiting[caller], self._most_waiting - self._waiting.total()):
            slot.queued = True
            self._line.setdefault(caller, OrderedDict()).setdefault(slot.agent, deque()).append(slot)
            self._waiting[caller] += 1
        else:
            words = f"You have {self._running[caller]} turns running and {self._waiting[caller]} in line: no more now."
            raise RateLimited(words, code="too_many_turns", headers={"Retry-After": str(RETRY_AFTER_S)})

    def _may_run(self, caller: Caller) -> bool:
        return _may(self._running[caller], self._most_running - self._running.total())

    def _grant(self, slot: Slot) -> None:
        slot.granted = True
        self._running[slot.caller] += 1

    def _fill(self) -> list[Slot]:
        """Those in line who are granted a slot now."""
        out = []
        while (caller := self._next()) is not None:
            agent, line = next(iter(self._line[caller].items()))
            slot = line.popleft()
            self._line.move_to_end(caller)
            self._line[caller].move_to_end(agent)
            self._tidy(caller, agent)
            self._grant(slot)
            out.append(slot)
        self._running += Counter()  # callers that run nothing are forgotten
        self._waiting += Counter()
        return out

    def _next(self) -> Caller | None:
        able = [caller for caller in self._line if self._may_run(caller)]
        return min(able, key=lambda caller: self._running[caller], default=None)

    def _tidy(self, caller: Caller, agent: int | None) -> None:
        """One less of these is in line."""
        agents = self._line[caller]
        if not agents[agent]:
            del agents[agent]
        if not agents:
            del self._line[caller]
        self._waiting[caller] -= 1


def _may(held: int, free: int) -> bool:
    return held < SHARE * free
