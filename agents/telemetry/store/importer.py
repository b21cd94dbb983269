"""Taking in whole files of what agents did elsewhere, and telling what came of it.

Spans are kept piece by piece (`agents.telemetry.store.external.inbox`) and become turns once the file is read,
so that a turn whose spans lie far apart in it is written once. Doing it again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.scoped import ScopedQuerySet
from agents.base.store.writer import writer
from agents.record.models.turns import Step, StepDetail, Turn, TurnBody
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.chunked_files import FileChunk
from agents.telemetry.reading.import_overrides import with_overrides
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import inbox, projection
from agents.telemetry.store.external.owners import Owner, external_id, owner_of

SHOWN = 100
"""Skipped lines, and sessions, that are told one by one."""
CHUNK = 200


@dataclass(slots=True)
class Report:
    """What an import did. ``skipped`` are (file, line, reason), the first of them; a line of 0 is none.
    ``reasons`` counts all. ``sessions`` are keys, those of the first turns."""

    files: int = 0
    lines: int = 0
    size: int = 0
    spans: int = 0
    new: int = 0
    known: int = 0
    changed: int = 0
    ignored: int = 0
    skipped: list[tuple[str, int, str]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    sessions: list[int] = field(default_factory=list)

    @property
    def turns(self) -> int:
        return self.new + self.known + self.changed

    def skip(self, name: str, line: int, reason: str, count: int = 1) -> None:
        self.reasons[reason] += count
        if len(self.skipped) < SHOWN:
            self.skipped.append((name, line, reason))


class _Stored(NamedTuple):
    """A trace. ``arrived`` counts what came of it, ``projected`` up to which of that its turns are made."""

    key: int
    name: str
    arrived: int
    projected: int

    @property
    def is_due(self) -> bool:
        return self.arrived > self.projected


class _Before(NamedTuple):
    """A trace as it was before the import: with turns of all that had arrived, or still due."""

    arrived: int
    turns: dict[str, bytes]
    due: bool = False


_NOTHING = _Before(0, {})


class Importer:
    """One import, of one file or many, for one owner. `take` each piece, then `settle`."""

    def __init__(self, actor: Actor, *, agent: str = "", session: str = "") -> None:
        self.report = Report()
        self._actor = actor
        self._names = {"agent": agent, "session": session}
        self._owner: Owner = writer.write(lambda: owner_of(actor))
        self._before: dict[str, _Before] = {}

    def take(self, name: str, piece: FileChunk) -> None:
        """Keep the spans of a piece of this file."""
        report = self.report
        report.lines += piece.lines
        report.size += piece.size
        report.ignored += piece.ignored
        for skip in piece.skipped:
            report.skip(name, skip.line, skip.reason, skip.count)
        spans = self._without_own(piece.spans)
        report.spans += len(spans)
        traces = {external_id(span.trace) for span in spans} - self._before.keys()
        self._before |= dict.fromkeys(traces, _NOTHING)
        self._before |= {
            one.name: _Before(one.arrived, self._turns(one.name), one.is_due) for one in self._known(traces)
        }
        inbox.accept(self._actor, with_overrides(spans, **self._names))

    def settle(self) -> Iterator[int]:
        """Make turns of all that was taken, some at a time; gives how many traces are done."""
        done = 0
        for names in _chunks(sorted(self._before)):
            found = self._known(names)
            projection.project([one.key for one in found if one.is_due])
            for one in found:
                self._count(one, self._before[one.name])
            self._note_sessions(names)
            done += len(names)
            yield done
        self._before.clear()

    def _without_own(self, spans: Sequence[Span]) -> list[Span]:
        """All but turns that this very store has: of these a copy is of no use."""
        own = {trace: key for trace in {span.trace for span in spans} if (key := _own_key(trace)) is not None}
        there = Turn.objects.unscoped("import").filter(pk__in=list(own.values()), **self._owner.where())
        mine = set(there.values_list("pk", flat=True))
        self.report.known += len(mine)
        return [span for span in spans if own.get(span.trace) not in mine]

    def _known(self, names: Iterable[str]) -> list[_Stored]:
        """Those of these traces that are stored."""
        found: list[_Stored] = []
        for some in _chunks(sorted(names)):
            rows = Trace.objects.unscoped("import").filter(**self._owner.where(), foreign_id__in=some)
            found += [_Stored(*row) for row in rows.values_list("pk", "foreign_id", "arrived", "projected")]
        return found

    def _turns(self, trace: str) -> dict[str, bytes]:
        """What is stored of the turns of a trace: a hash of each, by their foreign ids."""
        rows = _of_trace(self._owner, trace).values_list("pk", "foreign_id")
        return {foreign: _digest(key) for key, foreign in rows}

    def _count(self, trace: _Stored, before: _Before) -> None:
        """An import that broke off may have left a trace due; who made turns of it since does not matter."""
        if trace.arrived == before.arrived and not before.due:
            self.report.known += len(before.turns)
            return
        for name, digest in self._turns(trace.name).items():
            if name not in before.turns:
                self.report.new += 1
            elif before.turns[name] == digest:
                self.report.known += 1
            else:
                self.report.changed += 1

    def _note_sessions(self, names: Iterable[str]) -> None:
        for name in names:
            if len(self.report.sessions) >= SHOWN:
                return
            for key in _of_trace(self._owner, name).values_list("session_id", flat=True):
                if key not in self.report.sessions:
                    self.report.sessions.append(key)


def _own_key(trace: str) -> int | None:
    """The key of the turn that our exports call so."""
    if len(trace) != 32:
        return None
    return ids.parse(ids.Kind.TURN, f"{trace[:8]}-{trace[8:12]}-{trace[12:16]}-{trace[16:20]}-{trace[20:]}")


def _of_trace(owner: Owner, name: str) -> ScopedQuerySet:
    """The turns of a trace are called as it is, or so with a colon and a span behind it."""
    rows = Turn.objects.unscoped("import").filter(**owner.where())
    return rows.filter(foreign_id__gte=name, foreign_id__lt=f"{name};")


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), CHUNK):
        yield names[start : start + CHUNK]


_COLUMNS = [
    field.attname
    for field in Turn._meta.concrete_fields
    if field.attname not in ("number", "parent_id", "lease_owner", "lease_until")
]


def _digest(turn: int) -> bytes:
    """A hash of all that is stored of a turn."""
    made = blake2b(digest_size=16)
    for rows in (
        Turn.objects.unscoped("import").filter(pk=turn).values_list(*_COLUMNS),
        TurnBody.objects.unscoped("import").filter(pk=turn).values_list(),
        Step.objects.unscoped("import").filter(turn_id=turn).order_by("number").values_list(),
        StepDetail.objects.filter(step__turn_id=turn).order_by("step_id").values_list(),
    ):
        for row in rows:
            made.update(repr([bytes(value) if isinstance(value, memoryview) else value for value in row]).encode())
    return made.digest()
