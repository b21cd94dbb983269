"""Bodies at rest: JSON as it is up to 1 KiB, zstd from there."""

from __future__ import annotations

import threading

import zstandard

PLAIN, ZSTD = 0, 1
THRESHOLD = 1024
LIMIT = 512 * 1024 * 1024


def pack(body: bytes) -> tuple[int, bytes]:
    """(encoding, stored bytes)."""
    if len(body) < THRESHOLD:
        return PLAIN, body
    return ZSTD, pack_always(body)


def pack_always(body: bytes) -> bytes:
    """Compressed whatever its size; unpacked with `ZSTD`."""
    return _threads.compressor.compress(body)


class _Threads(threading.local):
    """Each thread's own pair: they are not safe to share, and making one costs more than a few kilobytes do."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=3)
        self.decompressor = zstandard.ZstdDecompressor()


_threads = _Threads()


def unpack(encoding: int, stored: bytes | memoryview) -> bytes:
    """The body again."""
    if encoding == PLAIN:
        return bytes(stored)
    return _threads.decompressor.decompress(stored, max_output_size=LIMIT)
