"""Threads for sync views: long-lived lanes, as many as are needed.

Django starts a thread for each request under ASGI and opens a database connection in it. Here a
request borrows a *lane*, a one-thread executor that lives on, with its connection. The least busy
lane is taken, a new one when all are busy, so that slow views hold up nobody; a stream gives its
lane back when its answer begins; idle lanes close their connection and go.

Who gets the next lane is a matter of fair shares: a caller with many requests at once has them waiting in a
line of its own, past which those of others go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial, wraps
from typing import Any, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections, reset_queries
from django.utils.http import parse_header_parameters

from agents.base import charsets, shares
from agents.base.errors import RateLimited
from agents.base.open_streams import ON_RESPONSE_END
from agents.base.shares import Caller, Shares

MIN_THREADS = 4
IDLE_S = 5.0
CALLER_SHARE = 1
"""A caller has less than so many times as many lanes as are free: alone half of them. More threads of Python do not do
more; they only take longer to come to those of others."""
RETRY_AFTER_S = 1
EXECUTOR_KEY = "agentsite.place"
"""Where a request's scope has its place."""
T = TypeVar("T")


class RequestThread:
    """One thread and how many requests are on it."""

    def __init__(self, number: int) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix=f"lane-{number}")
        self.busy = 0
        self.idle_since = time.monotonic()

    def retire(self) -> None:
        self.executor.submit(connections.close_all)
        self.executor.shutdown(wait=False)


class RequestThreadPool:
    """All lanes of the process; belongs to its event loop."""

    def __init__(self, min_threads: int = MIN_THREADS, max_threads: int = settings.MAX_REQUESTS) -> None:
        self.min_threads, self.max_threads = min_threads, max_threads
        self._threads: list[RequestThread] = []
        self._created = 0

    def __len__(self) -> int:
        return len(self._threads)

    def acquire(self) -> RequestThread:
        """The least busy lane, or a new one when all are busy."""
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
"""The process's lanes."""


class RequestShares(Shares):
    """Who has a lane, and who waits for one."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        message = f"You have {held} requests being answered and {waiting} waiting: no more now."
        return RateLimited(message, code="too_many_requests", headers={"Retry-After": str(RETRY_AFTER_S)})


requests = RequestShares(settings.MAX_REQUESTS, settings.MAX_WAITING, share=CALLER_SHARE)
"""Those of the process."""
large_requests = RequestShares(3, settings.MAX_WAITING, share=CALLER_SHARE)
"""Those among them that have a large body: read, it takes many times its size. Until then it waits on disk."""


class RequestExecutor(Executor):
    """A request's place on a lane, from `enter` to `free`. What there is to do before or after that, as at the
    end of a stream, is done on any lane."""

    def __init__(self) -> None:
        self._shares: list[tuple[RequestShares, shares.Slot]] = []
        self._thread: RequestThread | None = None
        self._last: Future[Any] | None = None

    async def enter(self, caller: Caller, *, large: bool = False) -> None:
        """Wait for a lane, until the caller's turn comes. Raises RateLimited."""
        for queue in (large_requests, requests) if large else (requests,):
            granted = asyncio.Event()
            share = queue.enter(caller)
            self._shares.append((queue, share))
            if not queue.when_granted(share, granted.set):
                await granted.wait()
        self._thread = thread_pool.acquire()

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._thread is not None:
            self._last = future = self._thread.executor.submit(call, *args, **kwargs)
            return future
        thread = thread_pool.acquire()
        try:
            return thread.executor.submit(call, *args, **kwargs)
        finally:
            thread_pool.release(thread)

    def free(self) -> None:
        """Give the lane back, once: when what was begun on it is done, though nobody waits for that any more."""
        thread, slots = self._thread, self._shares
        self._thread, self._shares = None, []
        if not slots:
            return
        done = partial(_free, thread, slots)
        if self._last is None or self._last.done():
            done()
        else:
            loop = asyncio.get_running_loop()
            self._last.add_done_callback(lambda _: _call_in_loop(loop, done))


def _free(thread: RequestThread | None, slots: list[tuple[RequestShares, shares.Slot]]) -> None:
    if thread is not None:
        thread_pool.release(thread)
    for queue, share in slots:
        queue.leave(share)


def _call_in_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the server has stopped
        loop.call_soon_threadsafe(call)


def with_working_connection(view: Callable[..., Any]) -> Callable[..., Any]:
    """The view, after dropping a database connection that is broken: in the view's own thread."""

    @wraps(view)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        close_old_connections()
        return view(*args, **kwargs)

    return wrapped


def disconnect_request_signals() -> None:
    """Django drops broken connections by signals, at two changes of thread for each request; here
    `with_working_connection` does it on the way to the view."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)


class KnownCharsetRequest(ASGIRequest):
    """A request whose charset is looked up only where it is one of documents: Python remembers each name that it was
    asked for in vain, for ever, and anybody may send one."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        charset = self.content_params.get("charset", "")
        if charsets.python_name(charset):
            self.encoding = charset


class RequestThreadHandler(ASGIHandler):
    """Django's handler with each request on a lane."""

    request_class = KnownCharsetRequest

    def __init__(self) -> None:
        super().__init__()
        disconnect_request_signals()

    def make_view_atomic(self, view: Callable[..., Any]) -> Callable[..., Any]:
        return super().make_view_atomic(with_working_connection(view))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        executor = scope[EXECUTOR_KEY] = RequestExecutor()
        scope[ON_RESPONSE_END] = []

        async def send_and_free(event: Any) -> None:
            if event["type"] == "http.response.body":
                executor.free()  # the view is done; a long stream would only seem to need its thread
            await send(event)

        try:
            async with ThreadSensitiveContext(executor=executor):
                await self.handle(scope, receive, send_and_free)
        finally:
            executor.free()
            for call in scope[ON_RESPONSE_END]:
                call()
