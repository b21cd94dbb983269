"""Imports files of what agents did elsewhere, and reports the result.

Spans are stored chunk by chunk (`agents.telemetry.store.external.inbox`) and become turns once the file is read,
so that a turn whose spans lie far apart in it is written once. Importing a file again changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.record.models.turns import Turn
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading.chunked_files import FileChunk
from agents.telemetry.reading.import_overrides import with_overrides
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.owners import Owner, external_id, owner_of
from agents.telemetry.store.external.projector import project_at_once
from agents.telemetry.store.turn_digests import digests_of_trace, turns_of_trace

MAX_LISTED = 100
"""Skipped lines, and sessions, that a result lists one by one."""
CHUNK_SIZE = 200


@dataclass(slots=True)
class ImportResult:
    """The result of an import so far. ``skipped`` are (file, line, reason), the first of them; a line of 0 is none.
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
        if len(self.skipped) < MAX_LISTED:
            self.skipped.append((name, line, reason))


class _StoredTrace(NamedTuple):
    """A stored trace. ``arrived`` counts the reports of it, ``projected`` those that its turns are made of."""

    key: int
    name: str
    arrived: int
    projected: int

    @property
    def is_due(self) -> bool:
        return self.arrived > self.projected


class _TraceBefore(NamedTuple):
    """A trace as it was before the import: with hashes of its turns, and whether it was due."""

    arrived: int
    turns: dict[str, bytes]
    due: bool = False


_NO_TRACE = _TraceBefore(0, {})


class Importer:
    """One import, of one file or many, for one owner: `add` each chunk, then `finish`."""

    def __init__(self, actor: Actor, *, agent: str = "", session: str = "") -> None:
        self.report = ImportResult()
        self._actor = actor
        self._names = {"agent": agent, "session": session}
        self._owner: Owner = writer.write(lambda: owner_of(actor))
        self._traces_before: dict[str, _TraceBefore] = {}

    def add(self, name: str, chunk: FileChunk) -> None:
        """Store the spans of a chunk of this file."""
        report = self.report
        report.lines += chunk.lines
        report.size += chunk.size
        report.ignored += chunk.ignored
        for skip in chunk.skipped:
            report.skip(name, skip.line, skip.reason, skip.count)
        spans = self._without_exported(chunk.spans)
        report.spans += len(spans)
        traces = {external_id(span.trace) for span in spans} - self._traces_before.keys()
        self._traces_before |= dict.fromkeys(traces, _NO_TRACE)
        self._traces_before |= {
            trace.name: _TraceBefore(trace.arrived, digests_of_trace(self._owner, trace.name), trace.is_due)
            for trace in self._stored_traces(traces)
        }
        inbox.accept(self._actor, with_overrides(spans, **self._names))

    def finish(self) -> Iterator[int]:
        """Project all added traces into turns, in chunks; yields how many traces are done."""
        done = 0
        for names in _chunks(sorted(self._traces_before)):
            stored = self._stored_traces(names)
            project_at_once(self._owner.user, [trace.key for trace in stored if trace.is_due])
            for trace in stored:
                self._count_turns(trace, self._traces_before[trace.name])
            self._note_sessions(names)
            done += len(names)
            yield done
        self._traces_before.clear()

    def _without_exported(self, spans: Sequence[Span]) -> list[Span]:
        """The spans without those of turns that were exported from this very store: copies of them are useless."""
        exported = {
            trace: key for trace in {span.trace for span in spans} if (key := _exported_turn(trace)) is not None
        }
        existing = Turn.objects.unscoped("import").filter(pk__in=list(exported.values()), **self._owner.where())
        existing_keys = set(existing.values_list("pk", flat=True))
        self.report.known += len(existing_keys)
        return [span for span in spans if exported.get(span.trace) not in existing_keys]

    def _stored_traces(self, names: Iterable[str]) -> list[_StoredTrace]:
        """The stored traces among these."""
        stored: list[_StoredTrace] = []
        for chunk in _chunks(sorted(names)):
            rows = Trace.objects.unscoped("import").filter(**self._owner.where(), foreign_id__in=chunk)
            stored += [_StoredTrace(*row) for row in rows.values_list("pk", "foreign_id", "arrived", "projected")]
        return stored

    def _count_turns(self, trace: _StoredTrace, before: _TraceBefore) -> None:
        """Count the turns of a trace as new, known or changed. An import that broke off may have left the trace due;
        it does not matter which process has projected it since."""
        if trace.arrived == before.arrived and not before.due:
            self.report.known += len(before.turns)
            return
        if not before.turns:
            self.report.new += len(turns_of_trace(self._owner, trace.name))
            return
        for name, digest in digests_of_trace(self._owner, trace.name).items():
            if name not in before.turns:
                self.report.new += 1
            elif before.turns[name] == digest:
                self.report.known += 1
            else:
                self.report.changed += 1

    def _note_sessions(self, names: Iterable[str]) -> None:
        for name in names:
            if len(self.report.sessions) >= MAX_LISTED:
                return
            keys = turns_of_trace(self._owner, name).values()
            for session in Turn.objects.unscoped("import").filter(pk__in=keys).values_list("session_id", flat=True):
                if session not in self.report.sessions:
                    self.report.sessions.append(session)


def _exported_turn(trace: str) -> int | None:
    """The key of the turn whose export has this trace id."""
    if len(trace) != 32:
        return None
    return ids.parse(ids.Kind.TURN, f"{trace[:8]}-{trace[8:12]}-{trace[12:16]}-{trace[16:20]}-{trace[20:]}")


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), CHUNK_SIZE):
        yield names[start : start + CHUNK_SIZE]
