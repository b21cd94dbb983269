"""Runs reads of the store from the event loop, on a small pool of threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from django.db import close_old_connections

from agents.base.shares import FairPool

T = TypeVar("T")

_readers = FairPool(4, "reader")


async def read(query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Run a read of the store off the loop, on the fair pool of readers."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_readers, partial(_read, query, args, kwargs))


def _read(query: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
    close_old_connections()
    return query(*args, **kwargs)
