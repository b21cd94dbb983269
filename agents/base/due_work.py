"""Work that is due at some time, done by a task of each process that may do it.

The task looks when it is told of something new, when the next thing is due, and every second, for what other processes
have stored. What it begins runs beside it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from agents.base import ids, loop_calls, rounds
from agents.base.news import News
from agents.base.store import failures

log = logging.getLogger(__name__)

POLL_S = 1.0
"""How often a process looks for what others have stored."""
MIN_ROUND_S = 0.05
"""Between two looks: what is new by the hundred is looked at together."""
STOP_S = 3.0
"""How long a stopping process waits for what it has begun. Others do what it leaves."""


class DueWork:
    """The task. ``name`` is the work's, for the log and the page of health. ``look`` does what is due, and returns when
    the next thing is, in microseconds since 1970; None where nothing is. What is due and left waits for room, of which
    the end of what was begun tells. `start` it on the loop of the server."""

    def __init__(self, name: str, news: News, look: Callable[[], Awaitable[int | None]]) -> None:
        self._name, self._news, self._look = name, news, look
        self._begun: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None

    @property
    def under_way(self) -> int:
        """How much of what was begun has not ended."""
        return len(self._begun)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = self._news.subscribe(self._wake)
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        self._unsubscribe()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._begun:
            _, late = await asyncio.wait(self._begun, timeout=STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def begin(self, label: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        """Begin a piece of work, by the ``label`` that tells it from others."""
        task = asyncio.create_task(self._guarded(label, work))
        self._begun.add(task)
        task.add_done_callback(self._ended)
        return task

    async def settle(self) -> None:
        """Wait until all that was begun has ended."""
        while self._begun:
            await asyncio.gather(*self._begun, return_exceptions=True)

    def _wake(self) -> None:
        loop_calls.call_soon(self._loop, self._wakeup.set)

    async def _run(self) -> None:
        while True:
            self._wakeup.clear()
            try:
                next_due = await self._look()
            except Exception as error:  # logged, and on the page of health: the next look tries again
                if failures.unavailable(error, self._name) is None:
                    log.exception("%s: what is due could not be done", self._name)
                    rounds.failed(self._name, error)
                next_due = None
            await asyncio.sleep(MIN_ROUND_S)
            with suppress(TimeoutError):  # it is time to look
                await asyncio.wait_for(self._wakeup.wait(), _pause_s(next_due))

    async def _guarded(self, label: str, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except Exception as error:  # logged, whatever it is: it is due again when its lease is over
            if failures.unavailable(error, label) is None:
                log.exception("%s: could not be done", label)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._begun.discard(task)
        self._wakeup.set()  # there is room for another


def _pause_s(next_due: int | None) -> float:
    remaining_s = POLL_S if next_due is None else (next_due - ids.now_us()) / 1e6
    return min(remaining_s, POLL_S) if remaining_s > 0 else POLL_S
