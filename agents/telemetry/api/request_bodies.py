"""Reads the bodies of telemetry requests: decompressed in chunks under a cap, so that a bomb costs no more than it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import zstandard
from django.conf import settings
from django.http import HttpRequest

from agents.base.errors import InvalidRequest, TooLarge, UnsupportedMedia

CHUNK_SIZE = 64 * 1024
GZIP, ZLIB = 31, 15
"""The ``wbits`` of zlib for the two formats."""


def read(request: HttpRequest) -> bytes:
    """Read a request's body, decompressed by its Content-Encoding. Raises TooLarge, UnsupportedMedia, InvalidRequest.
    It is read in chunks: `request.body` has another limit, and none for the decompressed size."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    unpack = _UNPACKERS.get(encoding)
    if unpack is None:
        raise UnsupportedMedia(f"Content-Encoding must be gzip, deflate or zstd, not {encoding[:40]}.")
    cap = settings.MAX_OTLP_MB * 2**20
    body = bytearray()
    for chunk in unpack(_chunks(request)):
        body += chunk
        if len(body) > cap:
            raise TooLarge(f"The body is larger than {settings.MAX_OTLP_MB} MiB when it is unpacked.")
    return bytes(body)


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(CHUNK_SIZE):
        yield chunk


def _plain(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return chunks


def _inflate(chunks: Iterator[bytes], wrapping: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wrapping)
    for chunk in chunks:
        remaining = chunk
        while remaining:
            try:
                yield inflater.decompress(remaining, CHUNK_SIZE)
            except zlib.error as error:
                raise _bad_encoding(error) from error
            remaining = inflater.unconsumed_tail
    if not inflater.eof:
        raise _bad_encoding("it ends too early")


def _zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(cast(Any, _ChunkReader(chunks)))
    try:
        while chunk := reader.read(CHUNK_SIZE):
            yield chunk
    except zstandard.ZstdError as error:
        raise _bad_encoding(error) from error


class _ChunkReader:
    """A file object over chunks, for the zstd reader."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._buffer = chunks, b""

    def read(self, size: int) -> bytes:
        self._buffer = self._buffer or next(self._chunks, b"")
        head, self._buffer = self._buffer[:size], self._buffer[size:]
        return head


def _bad_encoding(why: Any) -> InvalidRequest:
    return InvalidRequest(f"The body is not packed as its Content-Encoding says: {why}.", code="bad_encoding")


_UNPACKERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "identity": _plain,
    "": _plain,
    "gzip": lambda chunks: _inflate(chunks, GZIP),
    "deflate": lambda chunks: _inflate(chunks, ZLIB),
    "zstd": _zstd,
}
