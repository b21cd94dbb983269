"""Bodies of telemetry: unpacked piece by piece under a cap, so that a bomb costs no more than the cap."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import zstandard
from django.conf import settings
from django.http import HttpRequest

from agents.base.errors import InvalidRequest, TooLarge, UnsupportedMedia

PIECE = 64 * 1024
GZIP, ZLIB = 31, 15
"""What zlib calls the two wrappings."""


def read(request: HttpRequest) -> bytes:
    """A request's body, unpacked as its Content-Encoding says. Raises TooLarge, UnsupportedMedia,
    InvalidRequest. It is read in pieces: `request.body` has another limit, and none for what is packed."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    unpack = _UNPACKERS.get(encoding)
    if unpack is None:
        raise UnsupportedMedia(f"Content-Encoding must be gzip, deflate or zstd, not {encoding[:40]}.")
    cap = settings.MAX_OTLP_MB * 2**20
    found = bytearray()
    for piece in unpack(_pieces(request)):
        found += piece
        if len(found) > cap:
            raise TooLarge(f"The body is larger than {settings.MAX_OTLP_MB} MiB when it is unpacked.")
    return bytes(found)


def _pieces(request: HttpRequest) -> Iterator[bytes]:
    while piece := request.read(PIECE):
        yield piece


def _plain(pieces: Iterator[bytes]) -> Iterator[bytes]:
    return pieces


def _inflate(pieces: Iterator[bytes], wrapping: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wrapping)
    for piece in pieces:
        rest = piece
        while rest:
            try:
                yield inflater.decompress(rest, PIECE)
            except zlib.error as error:
                raise _broken(error) from error
            rest = inflater.unconsumed_tail
    if not inflater.eof:
        raise _broken("it ends too early")


def _zstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    reader = zstandard.ZstdDecompressor().stream_reader(cast(Any, _Joined(pieces)))
    try:
        while piece := reader.read(PIECE):
            yield piece
    except zstandard.ZstdError as error:
        raise _broken(error) from error


class _Joined:
    """Pieces as something that is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def read(self, size: int) -> bytes:
        self._rest = self._rest or next(self._pieces, b"")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def _broken(why: Any) -> InvalidRequest:
    return InvalidRequest(f"The body is not packed as its Content-Encoding says: {why}.", code="bad_encoding")


_UNPACKERS: dict[str, Callable[[Iterator[bytes]], Iterator[bytes]]] = {
    "identity": _plain,
    "": _plain,
    "gzip": lambda pieces: _inflate(pieces, GZIP),
    "deflate": lambda pieces: _inflate(pieces, ZLIB),
    "zstd": _zstd,
}
