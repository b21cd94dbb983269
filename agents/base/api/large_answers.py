"""Responses that may be large: a small one is sent from memory, a large one is spooled to disk first.

Building a large response holds a part of it in memory at a time, and only a few are built at once. A slow
reader holds no memory.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agents.base.errors import RateLimited
from agents.base.shares import Shares, caller

JSON = "application/json"
MAX_IN_MEMORY = 512 * 1024
"""Largest response that is sent from memory, in bytes."""
PART_BYTES = 64 * 1024
"""Bytes written to disk, and read from it, at a time."""
MAX_UNSHARED = 16 * 1024
"""Largest response, in bytes, that is built without waiting for others."""


class _Generators(Shares):
    """Slots for building responses above `MAX_UNSHARED`. Two, as for two cores: more at once would take more memory,
    be no faster, and keep other threads from Python's lock."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        raise AssertionError("all of them wait")


_generators = _Generators(2, share=1)
"""One caller builds one at a time."""


@contextmanager
def _generation_slot() -> Iterator[None]:
    """Hold a slot of `_generators`. For sync code: it waits until it is the caller's turn."""
    granted = threading.Event()
    slot = _generators.enter(caller.get(), admitted=True)
    try:
        if not _generators.when_granted(slot, granted.set):
            granted.wait()
        yield
    finally:
        _generators.leave(slot)


def answer(
    weight: int,
    chunks: Iterable[bytes],
    *,
    status: int = 200,
    content_type: str = JSON,
    headers: dict[str, str] | None = None,
) -> HttpResponseBase:
    """Build a response from chunks that are about ``weight`` bytes together. For sync code: it may wait for other
    responses that are being built."""
    remaining, buffered = iter(chunks), list[bytes]()
    if weight <= MAX_UNSHARED and _fits(remaining, buffered, MAX_UNSHARED):
        return HttpResponse(b"".join(buffered), status=status, content_type=content_type, headers=headers)
    with _generation_slot():
        if weight <= MAX_IN_MEMORY and _fits(remaining, buffered, MAX_IN_MEMORY):
            return HttpResponse(b"".join(buffered), status=status, content_type=content_type, headers=headers)
        return _spooled(chain(buffered, remaining), status, content_type, headers)


def _fits(chunks: Iterator[bytes], out: list[bytes], limit: int) -> bool:
    """Move chunks to ``out`` until they exceed ``limit`` bytes together; tell whether those were all."""
    size = sum(map(len, out))
    while size <= limit:
        chunk = next(chunks, None)
        if chunk is None:
            return True
        out.append(chunk)
        size += len(chunk)
    return False


def ready_answer(
    body: bytes, *, status: int = 200, content_type: str = JSON, headers: dict[str, str] | None = None
) -> HttpResponseBase:
    """Build a response from a complete body."""
    if len(body) <= MAX_IN_MEMORY:
        return HttpResponse(body, status=status, content_type=content_type, headers=headers)
    return _spooled((body,), status, content_type, headers)


def _spooled(
    chunks: Iterable[bytes], status: int, content_type: str, headers: dict[str, str] | None
) -> HttpResponseBase:
    spool = _Spool()
    try:
        spool.write(chunks)
    except BaseException:
        spool.close()
        raise
    length = {"Content-Length": str(spool.size)}
    return StreamingHttpResponse(spool, status=status, content_type=content_type, headers={**(headers or {}), **length})


class _Spool:
    """A temporary file without a name that is written, then read once from its start."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="answer-")  # noqa: SIM115 - closed by `close`
        self.size = 0

    def write(self, chunks: Iterable[bytes]) -> None:
        """Write chunks, many small ones at once."""
        pending, size = list[bytes](), 0
        for chunk in chunks:
            pending.append(chunk)
            size += len(chunk)
            if size >= PART_BYTES:
                self._append(pending, size)
                pending, size = [], 0
        self._append(pending, size)

    def _append(self, chunks: list[bytes], size: int) -> None:
        self._file.write(b"".join(chunks))
        self.size += size

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # on the loop: what was just written is read from the system's memory
        self._file.seek(0)
        while part := self._file.read(PART_BYTES):
            yield part

    def close(self) -> None:
        """Close the file. Django calls it once the response is sent or its reader has disconnected."""
        self._file.close()

    __del__ = close  # of one that was never sent
