"""Pieces of turns' logs as messages between processes. Knows no database.

A *frame* is a piece of one turn's log. Deltas travel joined, with the lengths by which they are cut again, so that a
reader in another process gets the very entries that one here gets. A frame may lack its entries, because they are too
large for a message or because there is nothing new: then it only says how far the log goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.record.schemas.delta_runs import DeltaRun, runs_of
from agents.record.schemas.events import EVENT, Cursor, Delta, Entry, Event, position


@dataclass(frozen=True, slots=True)
class Frame:
    """The entries of a turn after the cursor ``before`` and up to ``end``, or none of them. Everything up to the cursor
    ``stored`` is in the store."""

    turn: int
    before: Cursor
    end: Cursor
    stored: Cursor
    entries: Sequence[Entry] = ()


class _FrameRow(msgspec.Struct, array_like=True):
    """A frame on its way; each of its parts is an event, or a `DeltaRun` as an array."""

    turn: int
    before: Cursor
    end: Cursor
    stored: Cursor
    parts: list[msgspec.Raw]


_encode = msgspec.json.encode
_read_frames = msgspec.json.Decoder(list[_FrameRow]).decode
_read_run = msgspec.json.Decoder(list[Any]).decode
_COMMA = 1


def encode(frames: Sequence[Frame], max_bytes: int) -> Iterator[str]:
    """Yield messages with these frames, in order, each of at most ``max_bytes`` in UTF-8."""
    rows: list[bytes] = []
    size = 2
    for frame in frames:
        for row in _rows(frame, max_bytes - 2):
            if rows and size + len(row) + _COMMA > max_bytes:
                yield _message(rows)
                rows, size = [], 2
            rows.append(row)
            size += len(row) + _COMMA
    if rows:
        yield _message(rows)


def _message(rows: Sequence[bytes]) -> str:
    return (b"[%b]" % b",".join(rows)).decode()


def decode(message: str) -> list[Frame]:
    """Return the frames of a message. Raises ValueError."""
    return [
        Frame(
            row.turn, row.before, row.end, row.stored, [entry for part in row.parts for entry in _entries(bytes(part))]
        )
        for row in _read_frames(message)
    ]


def _entries(part: bytes) -> Iterator[Entry]:
    if part.startswith(b"["):
        yield from DeltaRun(*_read_run(part)).deltas()
    else:
        yield EVENT.validate_json(part)


def _rows(frame: Frame, max_bytes: int) -> Iterator[bytes]:
    """Yield a frame as rows of at most ``max_bytes``: as one, as its halves, or without the entry that is too large."""
    row = _row(frame)
    if len(row) <= max_bytes:
        yield row
    elif len(frame.entries) > 1:
        middle = len(frame.entries) // 2
        cut = position(frame.entries[middle - 1])
        yield from _rows(Frame(frame.turn, frame.before, cut, frame.stored, frame.entries[:middle]), max_bytes)
        yield from _rows(Frame(frame.turn, cut, frame.end, frame.stored, frame.entries[middle:]), max_bytes)
    else:
        yield _row(Frame(frame.turn, frame.before, frame.end, frame.stored))


def _row(frame: Frame) -> bytes:
    return _encode(_FrameRow(frame.turn, frame.before, frame.end, frame.stored, list(_parts(frame.entries))))


def _parts(entries: Sequence[Entry]) -> Iterator[msgspec.Raw]:
    deltas: list[Delta] = []
    for entry in entries:
        if isinstance(entry, Delta):
            deltas.append(entry)
            continue
        yield from _delta_parts(deltas)
        deltas = []
        yield _event_part(entry)
    yield from _delta_parts(deltas)


def _delta_parts(deltas: Sequence[Delta]) -> Iterator[msgspec.Raw]:
    return (msgspec.Raw(_encode(run.row())) for run in runs_of(deltas))


def _event_part(event: Event) -> msgspec.Raw:
    return msgspec.Raw(event.model_dump_json(exclude_none=True).encode())
