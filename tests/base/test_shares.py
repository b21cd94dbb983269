"""What is done for several callers is done for one after the other."""

from __future__ import annotations

import contextvars
import threading

import pytest

from agents.base import shares
from agents.base.shares import FairPool


def test_a_pool_takes_callers_in_turn() -> None:
    free, done = threading.Event(), list[str]()
    with FairPool(1, "test") as pool:
        pool.submit(free.wait)
        for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
            context = contextvars.copy_context()
            context.run(shares.caller.set, name[0])
            context.run(pool.submit, done.append, name)
        free.set()
    assert done == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_pool_tells_what_came_of_it() -> None:
    with FairPool(2, "test") as pool:
        assert pool.submit(divmod, 7, 2).result() == (3, 1)
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 7, 0).result()
