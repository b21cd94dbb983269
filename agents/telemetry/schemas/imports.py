"""The wire types of imports of uploaded files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agents.base.schemas.wire import SessionKey, Timestamp, Wire, WireOutput

ImportStateName = Literal["waiting", "running", "completed", "failed"]


class SkippedLine(WireOutput):
    """A part of a file that was skipped. ``line`` is null where it is not one line of the file."""

    file: str
    line: int | None
    reason: str


class TurnCounts(WireOutput):
    """The numbers of imported turns. ``known`` turns were stored already, unchanged; ``changed`` ones have grown."""

    new: int
    known: int
    changed: int


class ImportReport(WireOutput):
    """The result of an import so far. ``skipped`` are the first 100, ``reasons`` counts all of them; ``sessions`` are
    those of the first turns."""

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
    """An import. Where its server has stopped, another one goes on with it, or the same when it comes back. ``bytes``
    is the size of all files."""

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
    """A form with a ``file``, or several of them. ``format`` is detected for each file (``auto``);
    ``agent`` and ``session`` are names that replace those in the files."""

    file: bytes
    format: str = Field(default="auto", description="``auto``, or one of the formats that the documentation names.")
    agent: str = ""
    session: str = ""
