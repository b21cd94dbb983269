"""Imports of uploaded files, on the wire."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.base.schemas.wire import SessionKey, Timestamp, Wire, WireOutput

ImportStateName = Literal["waiting", "running", "completed", "failed", "interrupted"]


class SkippedLine(WireOutput):
    """Something that was left out. ``line`` is null where it is not one line of the file."""

    file: str
    line: int | None
    reason: str


class TurnCounts(WireOutput):
    """``known`` turns were there already, and are as they were; ``changed`` ones have grown."""

    new: int
    known: int
    changed: int


class ImportReport(WireOutput):
    """What was done so far. ``skipped`` are the first 100, ``reasons`` counts all of them; ``sessions`` are those of
    the first turns."""

    files: int
    lines: int
    bytes: int
    spans: int
    ignored: int
    turns: TurnCounts
    skipped: list[SkippedLine]
    reasons: dict[str, int]
    sessions: list[SessionKey]


class ImportObject(WireOutput):
    """``interrupted`` is one whose server has stopped: it goes on when that comes back, or when the same files
    are imported again. ``bytes`` is the
    size of all files."""

    id: str
    object: Literal["import"] = "import"
    state: ImportStateName
    name: str
    format: str
    agent: str | None
    session: str | None
    bytes: int
    error: str | None
    created_at: Timestamp
    updated_at: Timestamp
    report: ImportReport


class ImportForm(Wire):
    """A form with a ``file``, or several of them. ``format`` is told from each file by itself (``auto``);
    ``agent`` and ``session`` are names to go under, whatever the files say."""

    file: bytes
    format: str = Field(default="auto", description="``auto``, or one of the formats that the README names.")
    agent: str = ""
    session: str = ""
