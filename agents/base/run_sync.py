"""Runs async work from a request's thread."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from asgiref.sync import async_to_sync

T = TypeVar("T")


def run_on_loop(work: Awaitable[T]) -> T:
    """Run work on the server's loop, where its connections belong, and return its result. It blocks this thread:
    use it for pages with few users, never for the API. Raises what the work raises."""

    async def run() -> T:
        return await work

    return async_to_sync(run)()
