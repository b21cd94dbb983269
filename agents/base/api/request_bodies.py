"""Reads the bodies of requests: decompressed in chunks under a cap, so that a bomb costs no more than it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import zstandard
from django.http import HttpRequest

from agents.base.errors import InvalidRequest, TooLarge, UnsupportedMedia

Stream = TypeVar("Stream")
CHUNK_SIZE = 64 * 1024
GZIP, ZLIB = 31, 15
"""The ``wbits`` of zlib for the two formats."""
ZSTD_SLICE = 256
"""Bytes that zstandard unpacks at once, to at most 8 MiB: it knows no bound, and four bytes may stand for 128 KiB."""
MAX_STREAMS = 1_000


def encoding_of(request: HttpRequest) -> str:
    """Return how a request's body is packed; ``identity`` where it is not."""
    return request.headers.get("Content-Encoding", "").strip().lower() or "identity"


def read(request: HttpRequest, max_mb: int) -> bytes:
    """Read a request's body, decompressed by its Content-Encoding. Raises TooLarge, UnsupportedMedia, InvalidRequest.
    It is read in chunks: `request.body` has another limit, and none for the decompressed size."""
    encoding = encoding_of(request)
    unpack = _UNPACKERS.get(encoding)
    if unpack is None:
        raise UnsupportedMedia(f"Content-Encoding must be gzip, deflate or zstd, not {encoding[:40]}.")
    cap = max_mb * 2**20
    body = bytearray()
    for chunk in unpack(_chunks(request)):
        body += chunk
        if len(body) > cap:
            raise TooLarge(f"The body is larger than {max_mb} MiB when it is unpacked.")
    return bytes(body)


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(CHUNK_SIZE):
        yield chunk


def _plain(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return chunks


def _inflate(chunks: Iterator[bytes], wrapping: int) -> Iterator[bytes]:
    streams = _streams(partial(zlib.decompressobj, wrapping))
    stream = next(streams)
    for chunk in chunks:
        remaining = chunk
        while remaining:
            if stream.eof:
                stream = next(streams)
            try:
                yield stream.decompress(remaining, CHUNK_SIZE)
            except zlib.error as error:
                raise _bad_encoding(error) from error
            remaining = stream.unused_data if stream.eof else stream.unconsumed_tail
    _check_end(stream.eof)


def _zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    streams = _streams(zstandard.ZstdDecompressor().decompressobj)
    stream = next(streams)
    for chunk in chunks:
        for start in range(0, len(chunk), ZSTD_SLICE):
            remaining = chunk[start : start + ZSTD_SLICE]
            while remaining:
                if stream.eof:
                    stream = next(streams)
                try:
                    yield stream.decompress(remaining)
                except zstandard.ZstdError as error:
                    raise _bad_encoding(error) from error
                remaining = stream.unused_data if stream.eof else b""
    _check_end(stream.eof)


def _streams(begin: Callable[[], Stream]) -> Iterator[Stream]:
    """Begin one stream after the other, which together are the body: RFC 1952 calls them members, RFC 8878 frames.
    Raises InvalidRequest for too many: empty ones cost time, and never reach the cap."""
    for _ in range(MAX_STREAMS):
        yield begin()
    raise _bad_encoding(f"it is packed in more than {MAX_STREAMS:,} parts")


def _check_end(is_whole: bool) -> None:
    if not is_whole:
        raise _bad_encoding("it ends too early")


def _bad_encoding(why: Any) -> InvalidRequest:
    return InvalidRequest(f"The body is not packed as its Content-Encoding says: {why}.", code="bad_encoding")


_UNPACKERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "identity": _plain,
    "gzip": lambda chunks: _inflate(chunks, GZIP),
    "deflate": lambda chunks: _inflate(chunks, ZLIB),
    "zstd": _zstd,
}
