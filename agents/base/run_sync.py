"""Waiting, in a request's thread, for work that belongs on the loop."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from asgiref.sync import async_to_sync

T = TypeVar("T")


def run_on_loop(work: Awaitable[T]) -> T:
    """What the work comes to. It runs on the server's loop, where its connections belong, and holds
    this thread: for pages of a few people, never for the API. Raises what the work raises."""

    async def run() -> T:
        return await work

    return async_to_sync(run)()
