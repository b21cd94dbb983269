"""Calls of the event loop from another thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from agents.base import loop_calls


def called(ask: Callable[[asyncio.AbstractEventLoop, list[str]], None]) -> list[str]:
    """What a thread has told, until it tells ``end``."""

    async def flow() -> list[str]:
        loop, told, over = asyncio.get_running_loop(), [], asyncio.Event()
        loop.set_exception_handler(lambda _loop, context: told.append(repr(context["exception"])))

        def work() -> None:
            ask(loop, told)
            loop_calls.call_soon(loop, over.set)

        async with asyncio.timeout(30):
            await asyncio.gather(asyncio.to_thread(work), over.wait())
        return told

    return asyncio.run(flow())


def test_what_is_gathered_is_called_in_order_after_the_block() -> None:
    def ask(loop: asyncio.AbstractEventLoop, told: list[str]) -> None:
        with loop_calls.gathered():
            for name in ("first", "second"):
                loop_calls.call_soon(loop, told.append, name)
            told.append("within")
        loop_calls.call_soon(loop, told.append, "third")

    assert called(ask) == ["within", "first", "second", "third"]


def test_one_that_fails_keeps_none_from_being_called() -> None:
    def ask(loop: asyncio.AbstractEventLoop, told: list[str]) -> None:
        with loop_calls.gathered():
            loop_calls.call_soon(loop, [].pop)
            loop_calls.call_soon(loop, told.append, "second")

    assert called(ask) == ["IndexError('pop from empty list')", "second"]


def test_a_block_that_fails_has_them_called() -> None:
    def ask(loop: asyncio.AbstractEventLoop, told: list[str]) -> None:
        with suppress(KeyError), loop_calls.gathered():
            loop_calls.call_soon(loop, told.append, "first")
            raise KeyError

    assert called(ask) == ["first"]


def test_a_closed_loop_calls_nothing() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    loop_calls.call_soon(loop, [].pop)
    with loop_calls.gathered():
        loop_calls.call_soon(loop, [].pop)
