"""Reader of files of any length in chunks, so that a large one is never in memory as a whole.

A file has one entry a line, or is one JSON value; that must fit in memory and is bounded. A session file has a
meaning only in order: it is cut where a turn of the user begins, and both chunks have that line, so that the first
one knows that its last turn is over. Skipped entries are reported with the number of their line.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, cast

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import exported_turns, files, gzip_files, parquet_files
from agents.telemetry.reading.decoding import Decoded, FormatError, as_object
from agents.telemetry.reading.detect_format import FileFormat
from agents.telemetry.reading.exported_turns import RECORD_COLUMN
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.spans import Span

MAX_VALUE_BYTES = 64 * 2**20
"""Bytes of one line, or of a file that is one JSON value."""
CHUNK_BYTES = 8 * 2**20
"""Bytes that fill a chunk; a session file's takes four times as much."""
CHUNK_SPANS = 1_000
READ_BYTES = 128 * 1024
"""Bytes that are decompressed at once."""
SESSION_FORMATS = frozenset({"claude_code", "codex", "gemini_cli"})
_BOM = b"\xef\xbb\xbf"
_PACKED_TWICE = "it is Parquet inside gzip: import it without gzip."
_TOO_LONG = f"it is longer than {MAX_VALUE_BYTES // 2**20} MiB."


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """An entry that was left out, and why; ``line`` is 0 where it is not one line."""

    line: int
    reason: str
    count: int = 1


@dataclass(slots=True)
class FileChunk:
    """A chunk of a file. ``lines`` and ``size`` (bytes) are those that were read for it; ``ignored`` counts valid
    entries of no use."""

    spans: list[Span] = field(default_factory=list)
    lines: int = 0
    size: int = 0
    ignored: int = 0
    skipped: list[SkippedEntry] = field(default_factory=list)

    def add(self, decoded: Decoded, line: int) -> None:
        self.spans += decoded.spans
        self.ignored += decoded.ignored
        if decoded.rejected:
            self.skipped.append(SkippedEntry(line, decoded.problem, decoded.rejected))

    @property
    def is_full(self) -> bool:
        return self.size >= CHUNK_BYTES or len(self.spans) >= CHUNK_SPANS


def read_chunks(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """Read a file, which may be compressed with gzip and stands at its beginning. Unreadable entries are
    skipped; raises nothing for any content."""
    chunks = _unpacked(file, format_) if gzip_files.is_gzip(file) else _plain(file, format_)
    for chunk in chunks:
        for span in chunk.spans:
            if span.format == "otlp":
                span.format = "otlp_file"
        yield chunk


def _plain(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    if file.seekable() and parquet_files.is_parquet(file):
        return _rows(file, format_)
    return _sessions(file, format_) if format_ in SESSION_FORMATS else _records(file, format_)


def _unpacked(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """Read a compressed file; ``size`` then counts the bytes of the file, not of its content."""
    if gzip_files.read_head(file, len(parquet_files.MAGIC)) == parquet_files.MAGIC:
        yield FileChunk(skipped=[SkippedEntry(0, _PACKED_TWICE)])
        return
    content, read = gzip_files.GzipReader(file), 0
    for chunk in _plain(cast(BinaryIO, io.BufferedReader(content, READ_BYTES)), format_):
        chunk.size, read = file.tell() - read, file.tell()
        yield chunk
    if content.problem:
        yield FileChunk(skipped=[SkippedEntry(0, content.problem)])


# --------------------------------------------------------------------------------------------- lines


@dataclass(slots=True)
class _NumberedLines:
    """Numbered lines, without empty ones; those that are too long are reported in the current chunk."""

    file: BinaryIO
    chunk: FileChunk = field(default_factory=FileChunk)
    number: int = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while line := self.file.readline(MAX_VALUE_BYTES + 1):
            self.number += 1
            self.chunk.lines += 1
            size = len(line)
            if size > MAX_VALUE_BYTES and not line.endswith(b"\n"):
                size += self._skip_line()
                self.chunk.skipped.append(SkippedEntry(self.number, _TOO_LONG))
                line = b""
            self.chunk.size += size
            if self.number == 1:
                line = line.removeprefix(_BOM)
            if line.strip():
                yield self.number, line

    def _skip_line(self) -> int:
        size = 0
        while skipped := self.file.readline(MAX_VALUE_BYTES):
            size += len(skipped)
            if skipped.endswith(b"\n"):
                break
        return size

    def cut(self) -> FileChunk:
        """Return the current chunk and begin a new one."""
        chunk, self.chunk = self.chunk, FileChunk()
        return chunk


def _problem(line: bytes) -> str:
    """Return why a line is no JSON object; '' where it is one."""
    try:
        as_object(parse_json(line))
    except FormatError as error:
        return error.reason
    return ""


# --------------------------------------------------------------------------------------------- records


def _records(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """Read lines that are independent of each other, or one value over many lines."""
    lines = _NumberedLines(file)
    for number, line in lines:
        if lines.chunk.lines == number == 1 and _is_incomplete(line):
            yield _document_chunk(lines, line, format_)
            return
        _add_decoded(lines.chunk, number, line, format_)
        if lines.chunk.is_full:
            yield lines.cut()
    yield lines.cut()


def _is_incomplete(line: bytes) -> bool:
    """Whether a line is only the beginning of a value."""
    if not line.lstrip().startswith((b"{", b"[")):
        return False
    try:
        parse_json(line)
    except FormatError:
        return line.rstrip()[-1:] in b"{[,:" or line.strip() in (b"{", b"[")
    return False


def _document_chunk(lines: _NumberedLines, start: bytes, format_: FileFormat) -> FileChunk:
    remaining = lines.file.read(MAX_VALUE_BYTES + 1 - len(start))
    document = start + remaining
    chunk = lines.chunk
    chunk.size, chunk.lines = len(document), chunk.lines + remaining.count(b"\n")
    if len(document) > MAX_VALUE_BYTES:
        size = MAX_VALUE_BYTES // 2**20
        reason = f"one JSON value of more than {size} MiB: write its parts as lines, one JSON object each."
        chunk.skipped.append(SkippedEntry(0, reason))
    else:
        _add_decoded(chunk, 0, document, format_)
    return chunk


def _rows(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """Read a table. ``size`` is the whole file's at once, because the rows of a table lie scattered over it."""
    chunk, before = FileChunk(size=file.seek(0, io.SEEK_END)), 0
    file.seek(0)
    try:
        for rows in parquet_files.read_batches(file, only=RECORD_COLUMN if format_ == "turns" else None):
            chunk.lines += len(rows)
            if format_ == "turns":
                for number, row in enumerate(rows, before + 1):
                    _add(chunk, number, partial(exported_turns.from_row, row))
            else:
                _add(chunk, 0, partial(files.decode_rows, format_, rows), len(rows))
            before += len(rows)
            yield chunk
            chunk = FileChunk()
    except FormatError as error:
        chunk.skipped.append(SkippedEntry(0, error.reason))
    yield chunk


def _add_decoded(chunk: FileChunk, number: int, data: bytes, format_: FileFormat) -> None:
    def decoded() -> Decoded:
        value = parse_json(data)
        return exported_turns.from_json(value) if format_ == "turns" else files.decode_file(format_, data, number or 1)

    _add(chunk, number, decoded)


def _add(chunk: FileChunk, number: int, decode: Callable[[], Decoded], count: int = 1) -> None:
    """Add what is decoded, or why it cannot be: entries of this number, or of 0 where they have none."""
    try:
        chunk.add(decode(), number)
    except FormatError as error:
        chunk.skipped.append(SkippedEntry(number, error.reason, count))
    except InvalidRequest as error:
        chunk.skipped.append(SkippedEntry(number, error.message, count))


# --------------------------------------------------------------------------------------------- sessions


def _sessions(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    lines = _NumberedLines(file)
    head, session_lines, size, pending_problem = b"", [], 0, None
    for number, line in lines:
        if pending_problem is not None:
            lines.chunk.skipped.append(pending_problem)
            pending_problem = None
        if number == 1 and _is_incomplete(line):
            yield _document_chunk(lines, line, format_)
            return
        if problem := _problem(line):
            pending_problem = SkippedEntry(number, problem)  # the last line may be half written: the file still grows
            continue
        head = head or line
        session_lines.append(line)
        size += len(line)
        if size >= 4 * CHUNK_BYTES and begins_turn(format_, line):
            _read_session(lines.chunk, session_lines, format_)
            yield lines.cut()
            session_lines, size = [head, line], 0
    _read_session(lines.chunk, session_lines, format_)
    yield lines.cut()


def begins_turn(format_: FileFormat, line: bytes) -> bool:
    """Whether a turn of the user begins with this line. It searches the text: a wrong guess only means
    that one turn is split over two chunks."""
    compact = line.replace(b'": "', b'":"')
    if format_ == "codex":
        return b'"type":"task_started"' in compact
    if format_ == "claude_code":
        return b'"type":"user"' in compact and b'"tool_result"' not in compact and b'"isMeta":true' not in compact
    return False  # later lines of Gemini's change earlier ones


def _read_session(chunk: FileChunk, session_lines: list[bytes], format_: FileFormat) -> None:
    if not session_lines:
        return
    try:
        chunk.add(files.decode_file(format_, b"".join(line.rstrip(b"\r\n") + b"\n" for line in session_lines)), 0)
    except InvalidRequest as error:
        chunk.skipped.append(SkippedEntry(0, error.message))
