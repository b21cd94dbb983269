"""A model endpoint made of bytes, on a real socket, and what it takes to talk to it; likewise to the
scripted model.

An answer is a sequence of parts: bytes are sent as they are; ``"hang"`` stays silent until the
caller leaves, ``"wait"`` until the test sets `Upstream.go`, ``"reset"`` drops the connection hard,
and ``"keep"`` at the end keeps it for another request. The n-th request gets the n-th answer, later ones the last.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
import pytest

from agents.base.errors import AgentsError
from agents.loop.inference.base import CallPart, Chunk, Finish, InferenceRequest, Reasoning, Text
from agents.loop.inference.openai_compatible import EndpointConfig, OpenAICompatible
from agents.loop.inference.scripted import ScriptedEndpoint

Answer = Sequence[bytes | str]


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; header names in lower case."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Upstream:
    """The endpoint. ``left`` is set when a caller that is kept waiting hangs up, ``answered`` when
    an answer was sent to its end."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.answers = answers
        self.seen: list[Seen] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.answered = asyncio.Event()
        self.go = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except ConnectionError:
            self.left.set()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the next request may come on the same connection."""
        with suppress(asyncio.IncompleteReadError):
            self.seen.append(await self._request(reader))
            parts = self.answers[min(len(self.seen), len(self.answers)) - 1]
            for part in parts:
                await self._send(part, reader, writer)
            self.answered.set()
            return parts[-1] == "keep"
        return False

    async def _send(self, part: bytes | str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if isinstance(part, bytes):
            writer.write(part)
            await writer.drain()
        elif part == "reset":
            # Without lingering a close is a reset, not the orderly end.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif part == "wait":
            await self.go.wait()
            self.go.clear()
        elif part == "hang":
            await reader.read()
            self.left.set()

    async def _request(self, reader: asyncio.StreamReader) -> Seen:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Seen(head[0], headers, body)


@asynccontextmanager
async def listening(answers: Sequence[Answer], port: int = 0) -> AsyncIterator[tuple[str, Upstream]]:
    upstream = Upstream(answers)
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", port)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", upstream
    finally:
        server.close()


@dataclass
class Outcome:
    chunks: list[Chunk] = field(default_factory=list)
    error: Any = None
    seen: list[Seen] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)


OnChunk = Callable[[Upstream], Awaitable[None]]


@pytest.fixture
def ask() -> Callable[..., Outcome]:
    """Runs one inference against an endpoint with these answers; pauses are noted, not waited for.
    ``on_chunk`` is awaited after every chunk."""

    def ask(
        *answers: Answer, request: InferenceRequest | None = None, on_chunk: OnChunk | None = None, **options: Any
    ) -> Outcome:
        outcome = Outcome()
        numbers = count()

        async def note(seconds: float) -> None:
            outcome.pauses.append(seconds)

        async def main() -> None:
            async with listening(answers) as (url, upstream):
                outcome.seen = upstream.seen
                model = OpenAICompatible(
                    "lab", EndpointConfig(url, **options), sleep=note, new_call_id=lambda: f"own{next(numbers)}"
                )
                try:
                    async for chunk in model.stream(
                        request or InferenceRequest("m", [b'{"role":"user","content":"hi"}'])
                    ):
                        outcome.chunks.append(chunk)
                        if on_chunk:
                            await on_chunk(upstream)
                except AgentsError as error:
                    outcome.error = error
                finally:
                    await model.close()

        asyncio.run(main())
        return outcome

    return ask


@pytest.fixture(scope="session")
def serve() -> Callable[..., Any]:
    """The endpoint alone: an async context manager of its base URL and itself."""

    def serve(*answers: Answer, port: int = 0) -> Any:
        return listening(answers, port)

    return serve


@pytest.fixture(scope="session")
def http() -> Callable[..., bytes]:
    """An HTTP answer that ends with its connection."""

    def http(body: bytes = b"", *, status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body

    return http


@pytest.fixture(scope="session")
def sse() -> Callable[..., bytes]:
    """Events, from what they carry: text as it is, all else as JSON."""

    def sse(*payloads: Any) -> bytes:
        texts = [each.encode() if isinstance(each, str) else msgspec.json.encode(each) for each in payloads]
        return b"".join(b"data: " + text + b"\n\n" for text in texts)

    return sse


@pytest.fixture(scope="session")
def delta() -> Callable[..., dict[str, Any]]:
    """What an event carries in the middle of an answer, or with ``finish`` at its end."""

    def delta(content: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
        said = {} if content is None else {"content": content}
        return {"choices": [{"index": 0, "delta": {**said, **more}, "finish_reason": finish}]}

    return delta


@pytest.fixture(scope="session")
def ok(http: Callable[..., bytes], sse: Callable[..., bytes], delta: Callable[..., Any]) -> bytes:
    """A good answer: it says ``ok``."""
    return http(sse(delta("ok"), delta(finish="stop"), "[DONE]"))


@dataclass
class Spoken:
    """What came out of the scripted model."""

    chunks: list[Chunk] = field(default_factory=list)
    error: AgentsError | None = None
    pauses: list[float] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, Text))

    @property
    def thought(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, Reasoning))

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each call."""
        parts = [chunk for chunk in self.chunks if isinstance(chunk, CallPart)]
        names = {part.index: part.name for part in parts if part.name}
        return [
            (name, "".join(part.arguments for part in parts if part.index == place)) for place, name in names.items()
        ]

    @property
    def finish(self) -> Finish | None:
        last = self.chunks[-1] if self.chunks else None
        return last if isinstance(last, Finish) else None

    @property
    def reason(self) -> str | None:
        return self.finish.reason if self.finish else None


@pytest.fixture(scope="session")
def perform() -> Callable[..., Spoken]:
    """Runs one inference of the scripted model; a text stands for a message of the user. Pauses are
    noted, not waited for."""

    def perform(*messages: Any, model: str = "fast", **request: Any) -> Spoken:
        given = [{"role": "user", "content": each} if isinstance(each, str) else each for each in messages]
        encoded = [each if isinstance(each, bytes) else msgspec.json.encode(each) for each in given]
        answer = Spoken()

        async def note(seconds: float) -> None:
            answer.pauses.append(seconds)

        async def main() -> None:
            try:
                async for chunk in ScriptedEndpoint(sleep=note).stream(InferenceRequest(model, encoded, **request)):
                    answer.chunks.append(chunk)
            except AgentsError as error:
                answer.error = error

        asyncio.run(main())
        return answer

    return perform


@pytest.fixture(scope="session")
def called() -> Callable[..., dict[str, Any]]:
    """A message in which the model calls a tool."""

    def called(name: str) -> dict[str, Any]:
        call = {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    return called


@pytest.fixture(scope="session")
def result() -> Callable[..., dict[str, Any]]:
    """The message with which that tool answers."""

    def result(text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "c", "content": text}

    return result
