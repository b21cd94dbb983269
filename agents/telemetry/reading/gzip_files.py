"""Files that are packed with gzip, read as if they were not, as far as they can be."""

from __future__ import annotations

import io
import zlib
from gzip import BadGzipFile, GzipFile
from typing import Any, BinaryIO

_GZIP = b"\x1f\x8b"
MAX_RATIO = 250
"""Logs pack to a tenth, a boring log to a hundredth of its size: what is denser is there to fill the machine."""
UNCHECKED_BYTES = 64 * 2**20
"""Bytes that nobody asks about."""
BROKEN = "the gzip file is broken from here on."
TOO_DENSE = f"it unpacks to more than {MAX_RATIO} times its size; the rest is not read."


class GzipReader(io.RawIOBase):
    """What is in a gzip file. Where it cannot be read on it ends, and ``problem`` says why."""

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
            found = self._content.read1(len(buffer))  # what came before a break counts
        except (EOFError, BadGzipFile, zlib.error):
            self.problem = BROKEN
            return 0
        self._size += len(found)
        if self._size > UNCHECKED_BYTES and self._size > MAX_RATIO * self._file.tell():
            self.problem = TOO_DENSE
            return 0
        buffer[: len(found)] = found
        return len(found)


def is_gzip(file: BinaryIO) -> bool:
    """Whether a file that stands at its beginning is packed; it stands there afterwards too."""
    begun = file.read(len(_GZIP))
    file.seek(0)
    return begun == _GZIP


def read_head(file: BinaryIO, size: int) -> bytes:
    """The first bytes of what is in a file that stands at its beginning; it stands there afterwards too."""
    source = io.BufferedReader(GzipReader(file)) if is_gzip(file) else file
    found = source.read(size)
    file.seek(0)
    return found
