"""Answers that may be large: a small one is sent as it is, a large one waits on disk until its reader has
taken it.

What makes a large answer holds a part of it in memory at a time, and only a few are made at once: a
reader who takes his time holds none of it.
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
"""Bytes of an answer that stays in memory."""
READ_SIZE = 64 * 1024
"""Bytes that are read from disk at a time."""
MAX_UNSHARED = 16 * 1024
"""Bytes of an answer that is made whoever else is making one."""


class _Generators(Shares):
    """Who makes an answer that is not quick. As many as two cores can: more at once would take more memory, be no
    faster, and keep everybody else from Python's lock."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        raise AssertionError("all of them wait")


_generators = _Generators(2, share=1)
"""One caller makes one at a time."""


@contextmanager
def _generation_slot() -> Iterator[None]:
    """For sync code: waits until it is the caller's turn."""
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
    """An answer made of these pieces, which are about ``weight`` bytes together. For sync code: it may wait
    for others that are being made."""
    remaining, buffered = iter(chunks), list[bytes]()
    if weight <= MAX_UNSHARED and _fits(remaining, buffered, MAX_UNSHARED):
        return HttpResponse(b"".join(buffered), status=status, content_type=content_type, headers=headers)
    with _generation_slot():
        if weight <= MAX_IN_MEMORY and _fits(remaining, buffered, MAX_IN_MEMORY):
            return HttpResponse(b"".join(buffered), status=status, content_type=content_type, headers=headers)
        return _spooled(chain(buffered, remaining), status, content_type, headers)


def _fits(chunks: Iterator[bytes], out: list[bytes], limit: int) -> bool:
    """Put pieces to those that are there until they are too much together; whether that were all."""
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
    """An answer that is made already."""
    if len(body) <= MAX_IN_MEMORY:
        return HttpResponse(body, status=status, content_type=content_type, headers=headers)
    return _spooled((body,), status, content_type, headers)


def _spooled(
    chunks: Iterable[bytes], status: int, content_type: str, headers: dict[str, str] | None
) -> HttpResponseBase:
    spool = _Spool()
    try:
        for chunk in chunks:
            spool.write(chunk)
    except BaseException:
        spool.close()
        raise
    length = {"Content-Length": str(spool.size)}
    return StreamingHttpResponse(spool, status=status, content_type=content_type, headers={**(headers or {}), **length})


class _Spool:
    """A file without a name that is read once, from its start."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="answer-")  # noqa: SIM115 - closed by `close`
        self.size = 0

    def write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self.size += len(chunk)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # on the loop: what was just written is read from the system's memory
        self._file.seek(0)
        while part := self._file.read(READ_SIZE):
            yield part

    def close(self) -> None:
        """Django calls it once the answer is sent or its reader has gone."""
        self._file.close()

    __del__ = close  # of one that was never sent
