"""Waits on the event loop for what other tasks, threads or processes do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOOK_S = 0.01


async def until(look: Callable[[], object], within_s: float = 20.0) -> None:
    """Return as soon as ``look`` gives something true. Raises AssertionError when it never does."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not look():
        assert loop.time() < deadline, f"not so within {within_s:g} s"
        await asyncio.sleep(LOOK_S)
