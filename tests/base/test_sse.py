"""Streams of events: what their reader's task sends, and what is sent without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine

import pytest

from agents.base import sse
from agents.base.sse import FrameSender, reader_socket


class Socket:
    """The connection of a reader: what was sent on it, and whether it takes more."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.is_free = True

    def takes_part(self) -> bool:
        return self.is_free

    def send_part(self, body: bytes) -> None:
        self.sent.append(body)


class Stream:
    """A stream whose batches are texts, and its reader."""

    def __init__(self, socket: Socket | None) -> None:
        reader_socket.set(socket)
        self.batches: asyncio.Queue[str] = asyncio.Queue()
        self.sender: FrameSender[str] = FrameSender(self._encode)
        self.parts = sse.with_keep_alive(self._batches(), self.sender)

    async def next_part(self, batch: str) -> bytes:
        self.batches.put_nowait(batch)
        return await anext(self.parts)

    async def wait(self) -> None:
        """Let the reader wait for the next part."""
        self.waiting = asyncio.ensure_future(anext(self.parts))
        await asyncio.sleep(0)

    async def _batches(self) -> AsyncGenerator[str, None]:
        while True:
            yield await self.batches.get()

    @staticmethod
    def _encode(batch: str) -> bytes:
        if batch == "wrong":
            raise ValueError(batch)
        return batch.encode()


def run(flow: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(flow())


def test_once_it_has_begun_batches_are_sent_without_its_reader() -> None:
    async def flow() -> None:
        stream = Stream(socket := Socket())
        assert not stream.sender.send("early")
        assert await stream.next_part("first") == b"first"
        assert not stream.sender.send("its reader has not taken the first part yet")
        await stream.wait()
        assert stream.sender.send("second")
        assert stream.sender.send("")
        assert socket.sent == [b"second"]

    run(flow)


def test_its_reader_has_to_send_what_its_socket_does_not_take() -> None:
    async def flow() -> None:
        stream = Stream(socket := Socket())
        await stream.next_part("first")
        await stream.wait()
        socket.is_free = False
        assert not stream.sender.send("second")
        assert socket.sent == []

    run(flow)


def test_without_a_socket_its_reader_sends_all() -> None:
    async def flow() -> None:
        stream = Stream(None)
        await stream.next_part("first")
        await stream.wait()
        assert not stream.sender.send("second")

    run(flow)


def test_what_cannot_be_encoded_fails_in_its_reader() -> None:
    async def flow() -> None:
        stream = Stream(socket := Socket())
        await stream.next_part("first")
        stream.batches.put_nowait("second")
        assert await anext(stream.parts) == b"second"
        assert not stream.sender.send("wrong")
        assert socket.sent == []
        with pytest.raises(ValueError, match="wrong"):
            await stream.next_part("wrong")

    run(flow)
