"""Calls of the event loop from another thread, of which several may share a wake-up.

A wake-up takes two system calls, and at each of them the thread may lose the interpreter to another: after a commit
the writer has one for each run whose events it stored, and for the change feed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

_Calls = list[tuple[asyncio.AbstractEventLoop, Callable[[], object]]]


class _Gathered(threading.local):
    calls: _Calls | None = None


_gathered = _Gathered()


def call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *args: object) -> None:
    """Call a function on the loop, soon, and after those that this thread has asked for before. A loop that is closed
    calls nothing any more."""
    call = partial(callback, *args)
    if _gathered.calls is None:
        _wake(loop, call)
    else:
        _gathered.calls.append((loop, call))


@contextmanager
def gathered() -> Iterator[None]:
    """What this thread asks for in the block is called after it, with one wake-up of each loop."""
    calls: _Calls = []
    _gathered.calls = calls
    try:
        yield
    finally:
        _gathered.calls = None
        for loop in dict.fromkeys(loop for loop, _ in calls):
            due = [call for other, call in calls if other is loop]
            _wake(loop, due[0] if len(due) == 1 else partial(_call_each, loop, due))


def _wake(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # it is closed, perhaps since a moment ago
        loop.call_soon_threadsafe(call)


def _call_each(loop: asyncio.AbstractEventLoop, calls: list[Callable[[], object]]) -> None:
    for call in calls:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - told as the loop tells of what it calls itself
            loop.call_exception_handler({"message": f"a call from a thread failed: {call}", "exception": error})
