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
SMALL = 512 * 1024
"""Bytes of an answer that stays in memory."""
PART = 64 * 1024
"""Bytes that are read from disk at a time."""
QUICK = 16 * 1024
"""Bytes of an answer that is made whoever else is making one."""


class _Makers(Shares):
    """Who makes an answer that is not quick. As many as two cores can: more at once would take more memory, be no
    faster, and keep everybody else from Python's lock."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        raise AssertionError("all of them wait")


_makers = _Makers(2, share=1)
"""One caller makes one at a time."""


@contextmanager
def _making() -> Iterator[None]:
    """For sync code: waits until it is the caller's turn."""
    granted = threading.Event()
    place = _makers.enter(caller.get(), admitted=True)
    try:
        if not _makers.when_granted(place, granted.set):
            granted.wait()
        yield
    finally:
        _makers.leave(place)


def answer(
    weight: int,
    pieces: Iterable[bytes],
    *,
    status: int = 200,
    content_type: str = JSON,
    headers: dict[str, str] | None = None,
) -> HttpResponseBase:
    """An answer made of these pieces, which are about ``weight`` bytes together. For sync code: it may wait
    for others that are being made."""
    rest, first = iter(pieces), list[bytes]()
    if weight <= QUICK and _takes_all(rest, first, QUICK):
        return HttpResponse(b"".join(first), status=status, content_type=content_type, headers=headers)
    with _making():
        if weight <= SMALL and _takes_all(rest, first, SMALL):
            return HttpResponse(b"".join(first), status=status, content_type=content_type, headers=headers)
        return _kept(chain(first, rest), status, content_type, headers)


def _takes_all(pieces: Iterator[bytes], out: list[bytes], most: int) -> bool:
    """Put pieces to those that are there until they are too much together; whether that were all."""
    size = sum(map(len, out))
    while size <= most:
        piece = next(pieces, None)
        if piece is None:
            return True
        out.append(piece)
        size += len(piece)
    return False


def whole(
    body: bytes, *, status: int = 200, content_type: str = JSON, headers: dict[str, str] | None = None
) -> HttpResponseBase:
    """An answer that is made already."""
    if len(body) <= SMALL:
        return HttpResponse(body, status=status, content_type=content_type, headers=headers)
    return _kept((body,), status, content_type, headers)


def _kept(pieces: Iterable[bytes], status: int, content_type: str, headers: dict[str, str] | None) -> HttpResponseBase:
    spool = _Spool()
    try:
        for piece in pieces:
            spool.write(piece)
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

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self.size += len(piece)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # on the loop: what was just written is read from the system's memory
        self._file.seek(0)
        while part := self._file.read(PART):
            yield part

    def close(self) -> None:
        """Django calls it once the answer is sent or its reader has gone."""
        self._file.close()

    __del__ = close  # of one that was never sent
