"""Reads the change feed for a serving process: tells those who follow it of this process's own commits at once, and of
the commits of others as soon as they ring.

A commit of another process is announced by a message, and read from the feed. Where messages do not get through, the
feed is polled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import exp

from agents.base import loop_calls
from agents.base.messaging.channel import MessageChannel
from agents.base.reading import read
from agents.base.store import changes
from agents.base.store.changes import ChangeBatch

log = logging.getLogger(__name__)

RING_S = 0.025
"""The shortest time between two messages about commits, and between two reads of those of others."""
RINGS_PER_S = 100
"""Rings of others in a second at which own ones come half as often. Each reaches every process, so that their price
grows with the square of the processes; and whoever is rung reads all that was committed, whoever rang."""
POLL_S, CALM_POLL_S = 0.5, 2.0
"""How often the feed is polled: where messages do not get through, and where they do. Commands that change records
beside the servers send none."""
HELD_UP_S = 0.1
"""When changes are read again that wait for another transaction to end: one that fails does not ring."""
TOPIC = "changes"

Announce = Callable[[int, Sequence[tuple[int, int]], int], None]
"""Takes the feed's number after some changes, their records as (kind, key), and the number up to which all changes
have been announced with these."""


class FeedReader:
    """The change feed as this process knows it. It belongs to one event loop."""

    def __init__(self, channel: MessageChannel, announce: Announce) -> None:
        self._channel, self._announce = channel, announce
        self._announced = 0
        self._own: set[int] = set()  # the numbers of own commits above `_announced`
        self._has_news = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._rung_at = float("-inf")
        self._ring_timer: asyncio.TimerHandle | None = None
        self._heard, self._heard_at = 0.0, float("-inf")  # rings of others, of which each second leaves a third
        self._ends: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to announce the changes from now on."""
        self._ends = [changes.listen(self._on_commit), self._channel.on(TOPIC, self._on_ring)]
        self._announced = await read(changes.latest)
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        for end in self._ends:
            end()
        if self._ring_timer is not None:
            self._ring_timer.cancel()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --------------------------------------------------------------------------------- own commits

    def _on_commit(self, batch: ChangeBatch) -> None:
        loop_calls.call_soon(self._loop, self._announce_own, batch)

    def _announce_own(self, batch: ChangeBatch) -> None:
        numbers = batch.numbers
        if numbers[0] <= self._announced + 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
            self._advance(numbers[-1])
        else:  # others have taken numbers between these and the last
            self._own.update(number for number in numbers if number > self._announced)
            self._has_news.set()
        self._announce(batch.seq, batch.records, self._announced)
        self._ring()

    def _advance(self, announced: int) -> None:
        self._announced = max(self._announced, announced)
        if self._own:
            self._own = {number for number in self._own if number > self._announced}

    def _ring(self) -> None:
        """Tell the other processes, at once or some time after the last time: `RING_S`, longer while many ring."""
        if self._ring_timer is None:
            interval_s = RING_S * (1 + self._heard_lately() / RINGS_PER_S)
            remaining_s = self._rung_at + interval_s - self._loop.time()
            if remaining_s <= 0:
                self._send_ring()
            else:
                self._ring_timer = self._loop.call_later(remaining_s, self._send_ring)

    def _send_ring(self) -> None:
        self._ring_timer, self._rung_at = None, self._loop.time()
        self._channel.send(TOPIC, "")

    # ------------------------------------------------------------------------------ those of others

    def _heard_lately(self) -> float:
        """Return about how many rings of others came in the last second."""
        return self._heard * exp(self._heard_at - self._loop.time())

    def _on_ring(self, sender: str, body: str) -> None:
        self._heard, self._heard_at = self._heard_lately() + 1, self._loop.time()
        self._has_news.set()

    async def _follow(self) -> None:
        while True:
            try:
                async with asyncio.timeout(CALM_POLL_S if self._channel.is_working else POLL_S):
                    await self._has_news.wait()
            except TimeoutError:
                pass
            self._has_news.clear()
            try:
                await self._read_on()
            except Exception:  # logged, whatever it is: the server goes on, and the next round tries again
                log.exception("the changes of other processes could not be read")
                await asyncio.sleep(POLL_S)
            await asyncio.sleep(RING_S)

    async def _read_on(self) -> None:
        """Read and announce what others have changed, until there is nothing more."""
        count = changes.MAX_ROWS
        while count == changes.MAX_ROWS:
            batch = await read(changes.after, self._announced, known=frozenset(self._own))
            if batch is None:
                if await read(changes.is_held_up, self._announced):
                    self._loop.call_later(HELD_UP_S, self._has_news.set)
                return
            count = len(batch.numbers)
            self._advance(batch.seq)
            self._announce(batch.seq, batch.records, self._announced)
