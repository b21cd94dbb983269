"""Threads for sync views: long-lived lanes, as many as are needed.

Django starts a thread for each request under ASGI and opens a database connection in it. Here a
request borrows a *lane*, a one-thread executor that lives on, with its connection. The least busy
lane is taken, a new one when all are busy, so that slow views hold up nobody; a stream gives its
lane back when its answer begins; idle lanes close their connection and go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import wraps
from typing import Any, TypeVar

from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections, reset_queries

LEAST, MOST = 4, 32
IDLE_S = 5.0
T = TypeVar("T")


class Lane:
    """One thread and how many requests are on it."""

    def __init__(self, number: int) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix=f"lane-{number}")
        self.busy = 0
        self.idle_since = time.monotonic()

    def retire(self) -> None:
        self.executor.submit(connections.close_all)
        self.executor.shutdown(wait=False)


class Lanes:
    """All lanes of the process; belongs to its event loop."""

    def __init__(self, least: int = LEAST, most: int = MOST) -> None:
        self.least, self.most = least, most
        self._lanes: list[Lane] = []
        self._made = 0

    def __len__(self) -> int:
        return len(self._lanes)

    def take(self) -> Lane:
        """The least busy lane, or a new one when all are busy."""
        lane = min(self._lanes, key=lambda one: one.busy, default=None)
        if lane is None or (lane.busy and len(self._lanes) < self.most):
            lane = Lane(self._made)
            self._made += 1
            self._lanes.append(lane)
        lane.busy += 1
        return lane

    def give_back(self, lane: Lane) -> None:
        lane.busy -= 1
        lane.idle_since = time.monotonic()
        if len(self._lanes) > self.least:
            asyncio.get_running_loop().call_later(IDLE_S, self._retire)

    def _retire(self) -> None:
        idle = time.monotonic() - IDLE_S
        for lane in [one for one in self._lanes if not one.busy and one.idle_since <= idle]:
            if len(self._lanes) > self.least:
                self._lanes.remove(lane)
                lane.retire()

    def close(self) -> None:
        for lane in self._lanes:
            lane.retire()
        self._lanes.clear()


lanes = Lanes()
"""The process's lanes."""


class Place(Executor):
    """A request's place on a lane. What there is to do after it was given back, as at the end of a stream, is
    done on any lane: its own may have gone."""

    def __init__(self) -> None:
        self._lane: Lane | None = lanes.take()

    def submit(self, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if self._lane is not None:
            return self._lane.executor.submit(call, *args, **kwargs)
        lane = lanes.take()
        try:
            return lane.executor.submit(call, *args, **kwargs)
        finally:
            lanes.give_back(lane)

    def free(self) -> None:
        """Give the lane back, once."""
        lane, self._lane = self._lane, None
        if lane is not None:
            lanes.give_back(lane)


def on_a_sound_connection(view: Callable[..., Any]) -> Callable[..., Any]:
    """The view, after dropping a database connection that is broken: in the view's own thread."""

    @wraps(view)
    def called(*args: Any, **kwargs: Any) -> Any:
        close_old_connections()
        return view(*args, **kwargs)

    return called


def spare_the_signals() -> None:
    """Django drops broken connections by signals, at two changes of thread for each request; here
    `on_a_sound_connection` does it on the way to the view."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)


class LaneHandler(ASGIHandler):
    """Django's handler with each request on a lane."""

    def __init__(self) -> None:
        super().__init__()
        spare_the_signals()

    def make_view_atomic(self, view: Callable[..., Any]) -> Callable[..., Any]:
        return super().make_view_atomic(on_a_sound_connection(view))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        place = Place()

        async def send_and_free(event: Any) -> None:
            if event["type"] == "http.response.body":
                place.free()  # the view is done; a long stream would only seem to need its thread
            await send(event)

        try:
            async with ThreadSensitiveContext(executor=place):
                await self.handle(scope, receive, send_and_free)
        finally:
            place.free()
