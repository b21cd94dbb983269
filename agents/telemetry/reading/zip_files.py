"""Reader of zip archives of files. Nothing is written under a name of the archive: a file inside it is unpacked to a
temporary file without one, and its name is only shown.

An archive is hostile: it may unpack to more than fits anywhere, and its directory may be as long as itself.
"""

from __future__ import annotations

import io
import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, BinaryIO, cast

from agents.telemetry.reading import gzip_files
from agents.telemetry.reading.decoding import FormatError
from agents.telemetry.reading.sanitize import MAX_NAME_CHARS, clean_text

SUFFIXES = frozenset({".jsonl", ".json", ".ndjson", ".parquet"})
"""Suffixes of the files that are imported from a folder or an archive."""
MAX_MEMBERS = 10_000
MAX_UNPACKED_BYTES = 4 * 2**30
_PACKED = frozenset({".gz", ".zip"})
_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
_MAX_DIRECTORY_BYTES = 8 * 2**20
_MEMORY_BYTES = 4 * 2**20
_COPY_BYTES = 256 * 1024
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_END_BYTES, _END_64_DISTANCE, _MAX_COMMENT = 22, 76, 65_535
_BROKEN_ERRORS = (
    # NotImplementedError: an unknown packing; RuntimeError: encrypted; the others: sizes and names that cannot be
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
"""What Python's reader raises for archives that are broken, encrypted, or packed in a way that it does not know."""

BROKEN = "the zip archive is broken."
BROKEN_MEMBER = "this part of the zip archive is broken, encrypted, or packed in an unknown way."
PACKED_TWICE = "a packed file inside a zip archive is not read: put the file itself into the archive."
TOO_MANY = f"the zip archive has more than {MAX_MEMBERS:,} entries; the rest is not read."
TOO_LARGE = (
    f"the zip archive unpacks to more than {MAX_UNPACKED_BYTES // 2**30} GiB, or {gzip_files.MAX_RATIO} times its "
    "size; the rest is not read."
)
NOTHING = f"there is no file in the zip archive that ends in {', '.join(sorted(SUFFIXES))}."


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive, which stands at its beginning and is closed when the next one is read; or why it cannot be
    read. ``packed_bytes`` is its part of the archive's size."""

    name: str
    content: BinaryIO
    packed_bytes: int = 0
    problem: str = ""


def is_zip(file: BinaryIO) -> bool:
    """Whether a file is a zip archive. It stands at its beginning, before and after."""
    prefix = file.read(4)
    file.seek(0)
    return prefix in _SIGNATURES


def is_importable(name: str) -> bool:
    """Whether a file of a folder or an archive is one to import, by its name."""
    path = PurePosixPath(name.lower())
    path = path.with_suffix("") if path.suffix in _PACKED and path.stem else path
    return path.suffix in SUFFIXES and not path.name.endswith(".meta.json") and "__macosx" not in path.parts


def read_members(file: BinaryIO) -> Iterator[Member]:
    """Read the files of an archive that can be imported, by their names. Raises `FormatError` where the archive itself
    cannot be read, or not any further."""
    try:
        _check_directory(file)
        with zipfile.ZipFile(file) as archive:
            yield from _members(archive, _size(file))
    except _BROKEN_ERRORS as error:
        raise FormatError(BROKEN) from error


def _members(archive: zipfile.ZipFile, size: int) -> Iterator[Member]:
    infos = archive.infolist()
    wanted = sorted((info for info in infos[:MAX_MEMBERS] if _is_wanted(info)), key=lambda info: info.filename)
    remaining = _limit(size)
    for info in wanted:
        name = clean_text(info.filename)[:MAX_NAME_CHARS]
        if PurePosixPath(info.filename.lower()).suffix in _PACKED:
            yield Member(name, io.BytesIO(), problem=PACKED_TWICE)
            continue
        with tempfile.SpooledTemporaryFile(_MEMORY_BYTES) as content:
            problem = _unpack(archive, info, content, remaining)
            remaining -= content.tell()
            content.seek(0)
            if remaining < 0:
                raise FormatError(TOO_LARGE)
            yield Member(name, cast(BinaryIO, content), info.compress_size, problem)
    if len(infos) > MAX_MEMBERS:
        raise FormatError(TOO_MANY)
    if not wanted:
        raise FormatError(NOTHING)


def _is_wanted(info: zipfile.ZipInfo) -> bool:
    return not info.is_dir() and (is_importable(info.filename) or info.filename.lower().endswith(".zip"))


def _limit(size: int) -> int:
    return min(MAX_UNPACKED_BYTES, max(gzip_files.UNCHECKED_BYTES, gzip_files.MAX_RATIO * size))


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, content: IO[bytes], limit: int) -> str:
    """Unpack a file as far as it goes, one block beyond the limit at most; return what is wrong with it. Sizes that the
    archive says itself may be wrong."""
    try:
        with archive.open(info) as packed:
            while content.tell() <= limit and (block := packed.read(_COPY_BYTES)):
                content.write(block)
    except _BROKEN_ERRORS:
        return BROKEN_MEMBER
    return ""


def _size(file: BinaryIO) -> int:
    return file.seek(0, io.SEEK_END)


def _check_directory(file: BinaryIO) -> None:
    """Refuse an archive whose directory, which Python's reader reads at once, is too long. It is as long as the record
    at the archive's end says, or the longer record before that one."""
    size = _size(file)
    file.seek(max(0, size - _MAX_COMMENT - _END_BYTES - _END_64_DISTANCE))
    tail = file.read()
    end = tail.rfind(_END)
    if end < 0:
        raise FormatError(BROKEN)
    length = int.from_bytes(tail[end + 12 : end + 16], "little")
    end_64 = end - _END_64_DISTANCE
    if end_64 >= 0 and tail[end_64 : end_64 + 4] == _END_64:
        length = int.from_bytes(tail[end_64 + 40 : end_64 + 48], "little")
    if length > _MAX_DIRECTORY_BYTES:
        raise FormatError(TOO_MANY)
    file.seek(0)
