"""Reader of gzip files that may be broken: it yields what precedes the break."""

from __future__ import annotations

import io
import zlib
from gzip import BadGzipFile, GzipFile
from typing import Any, BinaryIO

_GZIP = b"\x1f\x8b"
MAX_RATIO = 250
"""Logs compress to a tenth, repetitive ones to a hundredth of their size: denser files are decompression bombs."""
UNCHECKED_BYTES = 64 * 2**20
"""Up to this size the ratio is not checked."""
BROKEN = "the gzip file is broken from here on."
TOO_DENSE = f"it unpacks to more than {MAX_RATIO} times its size; the rest is not read."


class GzipReader(io.RawIOBase):
    """The decompressed content of a gzip file. It ends where the file is broken or too dense, and ``problem`` says
    why."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._content = GzipFile(fileobj=file, mode="rb")
        self._size = 0
        self.problem = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.problem:
            return 0
        try:
            chunk = self._content.read1(len(buffer))  # read1 returns the bytes before a break, read would lose them
        except (EOFError, BadGzipFile, zlib.error):
            self.problem = BROKEN
            return 0
        self._size += len(chunk)
        if self._size > UNCHECKED_BYTES and self._size > MAX_RATIO * self._file.tell():
            self.problem = TOO_DENSE
            return 0
        buffer[: len(chunk)] = chunk
        return len(chunk)


def is_gzip(file: BinaryIO) -> bool:
    """Whether a file is compressed. The file stands at its beginning, before and after."""
    prefix = file.read(len(_GZIP))
    file.seek(0)
    return prefix == _GZIP


def read_head(file: BinaryIO, size: int) -> bytes:
    """Return the first bytes of a file's decompressed content. The file stands at its beginning, before and after."""
    source = io.BufferedReader(GzipReader(file)) if is_gzip(file) else file
    content = source.read(size)
    file.seek(0)
    return content
