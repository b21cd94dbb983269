"""Runs sync views on a pool of long-lived request threads, which callers share fairly.

Under ASGI Django starts a thread for each request and opens a database connection in it. Here a request borrows a
*request thread*, a one-thread executor that stays, with its connection to SQLite; those to PostgreSQL are shared
(`agentsite.shared_connections`). The pool gives out the least busy thread, or a new one when all are busy, so that
slow views do not block others; a stream releases its thread when its response begins; idle threads close their
connection and end.

The next thread is granted by fair shares (`agents.base.shares`): a caller's many requests wait in a queue of its
own and do not delay those of others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from django.conf import settings
from django.db import close_old_connections, connection, connections

from agents.base import loop_calls, shares
from agents.base.errors import RateLimited
from agents.base.shares import Caller, Shares

MIN_THREADS = 4
IDLE_S = 5.0
CALLER_SHARE = 1
"""A caller holds fewer than this many times the free threads: alone, half of them. More Python threads would not do
more work; they would only delay those of others."""
RETRY_AFTER_S = 1
EXECUTOR_KEY = "agentsite.place"
"""The key of a request's executor in its scope."""
T = TypeVar("T")


class RequestThread:
    """A one-thread executor, and the number of requests on it."""

    def __init__(self, number: int) -> None:
        self._executor = ThreadPoolExecutor(1, f"request-{number}", initializer=_share_connections)
        self.busy = 0
        self.idle_since = time.monotonic()

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return self._executor.submit(_run, partial(call, *args, **kwargs))

    def retire(self) -> None:
        self._executor.submit(connections.close_all)
        self._executor.shutdown(wait=False)


def _share_connections() -> None:
    """Let the request threads take connections from the pool of the process, on PostgreSQL."""
    if connection.vendor == "postgresql":
        # a process on SQLite does not import the driver
        from agentsite import shared_connections

        shared_connections.share()


def close_connections() -> None:
    """Close the connections of that pool. Blocking."""
    if connection.vendor == "postgresql":
        from agentsite import shared_connections

        shared_connections.close()


def _run(call: Callable[[], T]) -> T:
    """Run a call, and then give back the connection to the pool, or close one that is broken."""
    try:
        return call()
    finally:
        close_old_connections()


class RequestThreadPool:
    """The request threads of the process; used on its event loop only."""

    def __init__(self, min_threads: int = MIN_THREADS, max_threads: int = settings.MAX_REQUESTS) -> None:
        self.min_threads, self.max_threads = min_threads, max_threads
        self._threads: list[RequestThread] = []
        self._created = 0

    def __len__(self) -> int:
        return len(self._threads)

    def acquire(self) -> RequestThread:
        """Return the least busy thread, or a new one when all are busy."""
        thread = min(self._threads, key=lambda thread: thread.busy, default=None)
        if thread is None or (thread.busy and len(self._threads) < self.max_threads):
            thread = RequestThread(self._created)
            self._created += 1
            self._threads.append(thread)
        thread.busy += 1
        return thread

    def release(self, thread: RequestThread) -> None:
        thread.busy -= 1
        thread.idle_since = time.monotonic()
        if len(self._threads) > self.min_threads:
            asyncio.get_running_loop().call_later(IDLE_S, self._retire)

    def _retire(self) -> None:
        idle_before = time.monotonic() - IDLE_S
        for thread in [*self._threads]:
            is_idle = not thread.busy and thread.idle_since <= idle_before
            if is_idle and len(self._threads) > self.min_threads:
                self._threads.remove(thread)
                thread.retire()

    def close(self) -> None:
        for thread in self._threads:
            thread.retire()
        self._threads.clear()


thread_pool = RequestThreadPool()
"""The pool of the process."""


class RequestShares(Shares):
    """The shares of callers in the request threads."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        message = f"You have {held} requests being answered and {waiting} waiting: no more now."
        return RateLimited(message, code="too_many_requests", headers={"Retry-After": str(RETRY_AFTER_S)})


requests = RequestShares(settings.MAX_REQUESTS, settings.MAX_WAITING, share=CALLER_SHARE)
"""The shares of all requests of the process."""
large_requests = RequestShares(3, settings.MAX_WAITING, share=CALLER_SHARE)
"""The shares of requests with a large body, which takes many times its size once read: it waits on disk until then."""


LARGE_BODY = 1024 * 1024
"""Bytes from which on a body is large."""


class RequestSlots:
    """The slots that one request has in queues of callers."""

    def __init__(self) -> None:
        self._held: list[tuple[RequestShares, shares.Slot]] = []

    def __bool__(self) -> bool:
        return bool(self._held)

    async def enter(self, queue: RequestShares, caller: Caller) -> None:
        """Wait until the caller is granted a slot. Raises RateLimited."""
        granted = asyncio.Event()
        slot = queue.enter(caller)
        self._held.append((queue, slot))
        if not queue.when_granted(slot, granted.set):
            await granted.wait()

    def leave(self) -> None:
        """Give all of them back."""
        for queue, slot in self._held:
            queue.leave(slot)
        self._held.clear()


class RequestExecutor(Executor):
    """The executor of one request: it holds a thread from `enter` to `free`. Calls before or after that, as at the
    end of a stream, run on any thread."""

    def __init__(self) -> None:
        self._slots = RequestSlots()
        self._thread: RequestThread | None = None
        self._last: Future[Any] | None = None

    async def enter(self, caller: Caller, *, large: bool = False) -> None:
        """Wait until the caller is granted a thread. Raises RateLimited."""
        for queue in (large_requests, requests) if large else (requests,):
            await self._slots.enter(queue, caller)
        self._thread = thread_pool.acquire()

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._thread is not None:
            self._last = future = self._thread.submit(call, *args, **kwargs)
            return future
        thread = thread_pool.acquire()
        try:
            return thread.submit(call, *args, **kwargs)
        finally:
            thread_pool.release(thread)

    def free(self) -> None:
        """Release the thread, once: as soon as the last call on it is done, even if nobody awaits its result. It is
        asked for with each part of a stream."""
        if not self._slots:
            return
        thread, slots = self._thread, self._slots
        self._thread, self._slots = None, RequestSlots()
        done = partial(_free, thread, slots)
        if self._last is None or self._last.done():
            done()
        else:
            loop = asyncio.get_running_loop()
            self._last.add_done_callback(lambda _: loop_calls.call_soon(loop, done))


def _free(thread: RequestThread | None, slots: RequestSlots) -> None:
    if thread is not None:
        thread_pool.release(thread)
    slots.leave()
