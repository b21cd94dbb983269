"""Functions that tests offer as tools: imported by the process of the functions, so nothing of the server here."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import Annotated, Any, Literal

from pydantic import Field

from turnlog.tools import Image, ToolContext, ToolResult

_held, _released, _begun, _left = threading.Event(), threading.Event(), threading.Event(), threading.Event()


def add(
    first: int,
    second: int = 2,
    *,
    unit: Literal["m", "km"] | None = None,
    tags: Annotated[list[str], Field(max_length=2)] = [],  # noqa: B006 - as people write it
) -> dict[str, Any]:
    """
    Add two lengths.

    :param first: The one length,
        in its unit
    :param int second: The other
    :returns: Their sum
    """
    print("adding", first)  # noqa: T201 - people do
    return {"sum": first + second, "unit": unit, "tags": tags}


def fail(how: str) -> None:
    """Raise what is asked for."""
    raise {"lookup": LookupError("no such order"), "exit": SystemExit(3), "stop": StopIteration(1)}[how]


async def on_loop() -> str:
    return str(threading.current_thread() is threading.main_thread())


def beside_loop() -> str:
    return str(threading.current_thread() is threading.main_thread())


def whose(context: ToolContext) -> str:
    return context.actor


def values(which: str) -> Any:
    return {"none": None, "inf": float("inf"), "set": {1, 2}, "type": object}[which]


def draw() -> Image:
    return Image(data=b"hi")


def half() -> ToolResult:
    return ToolResult("half", error="no more", metadata={"pages": 1})


def large(size: int) -> str:
    return "x" * size


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def spin() -> None:
    """Never end, but by an exception from outside."""
    try:
        while True:
            pass
    finally:
        _held.set()


def was_cancelled() -> str:
    return str(_held.wait(10))


def hold() -> str:
    """Take a thread until all are let go."""
    return str(_released.wait(60))


async def release() -> None:
    _released.set()


async def linger() -> None:
    """Never end, but by being cancelled."""
    _begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        _left.set()


async def began_to_linger() -> str:
    return str(_begun.is_set())


def was_left() -> str:
    return str(_left.wait(10))


def odd(what: threading.Event) -> None:
    """Takes what no JSON is."""


def perhaps() -> None:
    """Says nonsense of itself."""


def refund(order: str) -> str:
    return order


refund.repeat, refund.in_doubt = "idempotent", "done"  # type: ignore[attr-defined]  # how a function says it
perhaps.in_doubt = "perhaps"  # type: ignore[attr-defined]  # how a function says it
