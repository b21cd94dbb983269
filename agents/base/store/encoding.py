"""Compresses stored bodies: JSON as it is below 1 KiB, zstd from there."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import zstandard

PLAIN, ZSTD = 0, 1
THRESHOLD = 1024
LIMIT = 512 * 1024 * 1024
HEADER = 18
"""Bytes of zstd's header, at most."""


def pack(body: bytes) -> tuple[int, bytes]:
    """Return (encoding, stored bytes) of a body."""
    if len(body) < THRESHOLD:
        return PLAIN, body
    return ZSTD, pack_always(body)


def pack_always(body: bytes) -> bytes:
    """Compress a body of any size; it is unpacked with `ZSTD`."""
    if len(body) > MAX_POOLED:
        return _compressor().compress(body)
    return _threads.compressor.compress(body)


MAX_POOLED = 128 * 1024
"""Largest body, in bytes, for a thread's own compressor: for larger ones it allocates megabytes and keeps them."""


def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=3)


class _Threads(threading.local):
    """Each thread's own pair: they are not thread-safe, and creating one costs more than packing a few kilobytes."""

    def __init__(self) -> None:
        self.compressor = _compressor()
        self.decompressor = zstandard.ZstdDecompressor()


_threads = _Threads()


def size_of(encoding: int, header: bytes | memoryview) -> int:
    """Return the size of a body by the first stored bytes: exact where it is compressed, else an upper bound."""
    return THRESHOLD if encoding == PLAIN else int(zstandard.frame_content_size(bytes(header)))


def unpack(encoding: int, stored: bytes | memoryview) -> bytes:
    """Return the body."""
    if encoding == PLAIN:
        return bytes(stored)
    return _threads.decompressor.decompress(stored, max_output_size=LIMIT)


CHUNK = 256 * 1024


def chunks(encoding: int, stored: bytes | memoryview) -> Iterator[bytes]:
    """Yield the body in chunks."""
    if encoding == PLAIN:
        yield bytes(stored)
    else:
        yield from zstandard.ZstdDecompressor().read_to_iter(bytes(stored), write_size=CHUNK)
