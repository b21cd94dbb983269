"""Bodies at rest: JSON as it is up to 1 KiB, zstd from there."""

from __future__ import annotations

import zstandard

PLAIN, ZSTD = 0, 1
THRESHOLD = 1024
LIMIT = 512 * 1024 * 1024


def pack(body: bytes) -> tuple[int, bytes]:
    """(encoding, stored bytes)."""
    if len(body) < THRESHOLD:
        return PLAIN, body
    # a compressor is not safe to share between threads, and cheap to make
    return ZSTD, zstandard.ZstdCompressor(level=3).compress(body)


def pack_always(body: bytes) -> bytes:
    """Compressed whatever its size; unpacked with `ZSTD`."""
    return zstandard.ZstdCompressor(level=3).compress(body)


def unpack(encoding: int, stored: bytes | memoryview) -> bytes:
    """The body again."""
    if encoding == PLAIN:
        return bytes(stored)
    return zstandard.ZstdDecompressor().decompress(bytes(stored), max_output_size=LIMIT)
