"""Files of any length as spans, piece by piece, so that a large one is never in memory as a whole.

A file has its things one a line, or is one JSON value; that must fit in memory and is bounded. A session file means
something only in order: it is cut where a turn of the user begins, and both pieces have that line, so that the first
one knows that its last turn is over. What a piece leaves out is told with the number of its line.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import exported_turns, files, gzip_files
from agents.telemetry.reading.decoding import Decoded, FormatError, as_object
from agents.telemetry.reading.detect_format import FileFormat
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.spans import Span

MAX_VALUE_BYTES = 64 * 2**20
"""Bytes of one line, or of a file that is one JSON value."""
CHUNK_BYTES = 8 * 2**20
"""Bytes that are worth a piece; of a session file four times as much."""
CHUNK_SPANS = 1_000
READ_BYTES = 128 * 1024
"""Bytes that are unpacked at once."""
SESSION_FORMATS = frozenset({"claude_code", "codex", "gemini_cli"})
_MARK = b"\xef\xbb\xbf"
_TOO_LONG = f"it is longer than {MAX_VALUE_BYTES // 2**20} MiB."


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """What was left out, and why; ``line`` is 0 where it is not one line."""

    line: int
    reason: str
    count: int = 1


@dataclass(slots=True)
class FileChunk:
    """``lines`` and ``size`` (bytes) are what was read for it; ``ignored`` counts what is fine and of no use."""

    spans: list[Span] = field(default_factory=list)
    lines: int = 0
    size: int = 0
    ignored: int = 0
    skipped: list[SkippedEntry] = field(default_factory=list)

    def add(self, found: Decoded, line: int) -> None:
        self.spans += found.spans
        self.ignored += found.ignored
        if found.rejected:
            self.skipped.append(SkippedEntry(line, found.problem, found.rejected))

    @property
    def is_full(self) -> bool:
        return self.size >= CHUNK_BYTES or len(self.spans) >= CHUNK_SPANS


def read_chunks(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """What the file holds, which may be packed with gzip and stands at its beginning. What cannot be read is
    skipped; raises nothing for whatever it may be."""
    made = _unpacked(file, format_) if gzip_files.is_gzip(file) else _plain(file, format_)
    for piece in made:
        for span in piece.spans:
            if span.format == "otlp":
                span.format = "otlp_file"
        yield piece


def _plain(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    return _sessions(file, format_) if format_ in SESSION_FORMATS else _records(file, format_)


def _unpacked(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """``size`` counts the bytes of the file, not of what is in it."""
    content, read = gzip_files.GzipReader(file), 0
    for piece in _plain(cast(BinaryIO, io.BufferedReader(content, READ_BYTES)), format_):
        piece.size, read = file.tell() - read, file.tell()
        yield piece
    if content.problem:
        yield FileChunk(skipped=[SkippedEntry(0, content.problem)])


# --------------------------------------------------------------------------------------------- lines


@dataclass(slots=True)
class _Lines:
    """Numbered lines, without empty ones; those that are too long are told to the piece that is being made."""

    file: BinaryIO
    piece: FileChunk = field(default_factory=FileChunk)
    number: int = 0

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while line := self.file.readline(MAX_VALUE_BYTES + 1):
            self.number += 1
            self.piece.lines += 1
            size = len(line)
            if size > MAX_VALUE_BYTES and not line.endswith(b"\n"):
                size += self._pass_over()
                self.piece.skipped.append(SkippedEntry(self.number, _TOO_LONG))
                line = b""
            self.piece.size += size
            if self.number == 1:
                line = line.removeprefix(_MARK)
            if line.strip():
                yield self.number, line

    def _pass_over(self) -> int:
        passed = 0
        while rest := self.file.readline(MAX_VALUE_BYTES):
            passed += len(rest)
            if rest.endswith(b"\n"):
                break
        return passed

    def cut(self) -> FileChunk:
        """The piece so far; what follows goes into a new one."""
        made, self.piece = self.piece, FileChunk()
        return made


def _problem(line: bytes) -> str:
    """Why a line is no JSON object; '' where it is one."""
    try:
        as_object(parse_json(line))
    except FormatError as wrong:
        return wrong.reason
    return ""


# --------------------------------------------------------------------------------------------- records


def _records(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    """Lines that stand for themselves, or one value over many lines."""
    lines = _Lines(file)
    for number, line in lines:
        if lines.piece.lines == number == 1 and _is_begun(line):
            yield _document(lines, line, format_)
            return
        _read(lines.piece, number, line, format_)
        if lines.piece.is_full:
            yield lines.cut()
    yield lines.cut()


def _is_begun(line: bytes) -> bool:
    """Whether a line is only the beginning of a value."""
    if not line.lstrip().startswith((b"{", b"[")):
        return False
    try:
        parse_json(line)
    except FormatError:
        return line.rstrip()[-1:] in b"{[,:" or line.strip() in (b"{", b"[")
    return False


def _document(lines: _Lines, begun: bytes, format_: FileFormat) -> FileChunk:
    rest = lines.file.read(MAX_VALUE_BYTES + 1 - len(begun))
    whole = begun + rest
    piece = lines.piece
    piece.size, piece.lines = len(whole), piece.lines + rest.count(b"\n")
    if len(whole) > MAX_VALUE_BYTES:
        size = MAX_VALUE_BYTES // 2**20
        reason = f"one JSON value of more than {size} MiB: write its parts as lines, one JSON object each."
        piece.skipped.append(SkippedEntry(0, reason))
    else:
        _read(piece, 0, whole, format_)
    return piece


def _read(piece: FileChunk, number: int, data: bytes, format_: FileFormat) -> None:
    try:
        value = parse_json(data)
        piece.add(exported_turns.from_json(value) if format_ == "turns" else files.decode_file(format_, data), number)
    except FormatError as wrong:
        piece.skipped.append(SkippedEntry(number, wrong.reason))
    except InvalidRequest as wrong:
        piece.skipped.append(SkippedEntry(number, wrong.message))


# --------------------------------------------------------------------------------------------- sessions


def _sessions(file: BinaryIO, format_: FileFormat) -> Iterator[FileChunk]:
    lines = _Lines(file)
    head, some, size, doubt = b"", [], 0, None
    for number, line in lines:
        if doubt is not None:
            lines.piece.skipped.append(doubt)
            doubt = None
        if number == 1 and _is_begun(line):
            yield _document(lines, line, format_)
            return
        if problem := _problem(line):
            doubt = SkippedEntry(number, problem)  # the last line may be half written: the file still grows
            continue
        head = head or line
        some.append(line)
        size += len(line)
        if size >= 4 * CHUNK_BYTES and begins_turn(format_, line):
            _read_session(lines.piece, some, format_)
            yield lines.cut()
            some, size = [head, line], 0
    _read_session(lines.piece, some, format_)
    yield lines.cut()


def begins_turn(format_: FileFormat, line: bytes) -> bool:
    """Whether a turn of the user begins with this line. Looked for in the text: a wrong guess only means
    that one turn is told in two pieces."""
    squeezed = line.replace(b'": "', b'":"')
    if format_ == "codex":
        return b'"type":"task_started"' in squeezed
    if format_ == "claude_code":
        return b'"type":"user"' in squeezed and b'"tool_result"' not in squeezed and b'"isMeta":true' not in squeezed
    return False  # later lines of Gemini's change earlier ones


def _read_session(piece: FileChunk, some: list[bytes], format_: FileFormat) -> None:
    if not some:
        return
    try:
        piece.add(files.decode_file(format_, b"".join(line.rstrip(b"\r\n") + b"\n" for line in some)), 0)
    except InvalidRequest as wrong:
        piece.skipped.append(SkippedEntry(0, wrong.message))
