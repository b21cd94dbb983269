"""Imports that run behind their requests: who asked for which, how far each is, and what came of it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import AgentsError, NotFound
from agents.base.store import failures, scopes
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.telemetry.models.imports import Import, ImportState
from agents.telemetry.reading.chunked_files import read_chunks
from agents.telemetry.reading.detect_format import FileFormat, format_of_file
from agents.telemetry.store.importer import Importer, Report

log = logging.getLogger(__name__)

AUTO = "auto"
EVERY_S = 1.0
"""How often a running import tells how far it is."""
SILENCE_US = 60_000_000
"""One that has told nothing for so long has lost its server, until that comes back."""
_OPEN = (ImportState.WAITING, ImportState.RUNNING)
UNKNOWN = "it is of no format that we know."


@dataclass(frozen=True, slots=True)
class NewImport:
    """What is asked for: the names of the files for people, the bytes of all of them."""

    name: str
    size: int
    format: str = AUTO
    agent: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """``state`` is waiting, running, completed, failed or interrupted. Moments are microseconds since 1970."""

    key: int
    name: str
    format: str
    agent: str
    session: str
    state: str
    size: int
    error: str
    created_at: int
    updated_at: int
    report: Report = field(default_factory=Report)

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.IMPORT, self.key)

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")


def create(actor: Actor, new: NewImport, key: int | None = None) -> ImportRecord:
    """Write down an import that is to begin, under this key or a new one."""
    key, now = key or ids.new_key(), ids.now_us()

    def job() -> None:
        Import(
            pk=key,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            name=new.name[:255],
            format=new.format,
            agent=new.agent,
            session=new.session,
            size=new.size,
            created_at=now,
            updated_at=now,
        ).save(force_insert=True)

    writer.write(job)
    return _record(Import.objects.unscoped("made").get(pk=key))


def get(actor: Actor, public_id: str, action: Action = "ingest") -> ImportRecord:
    """One's own, or anyone's for an admin. Raises NotFound."""
    row = _mine(actor, action).filter(pk=ids.parse(ids.Kind.IMPORT, public_id) or 0).first()
    if row is None:
        raise NotFound(f"Import '{public_id[:80]}' not found.")
    return _record(row)


def listing(actor: Actor, limit: int = 20) -> list[ImportRecord]:
    """The newest ones."""
    return [_record(row) for row in _mine(actor, "ingest").order_by("-pk")[:limit]]


def unfinished(key: int) -> tuple[Actor, ImportRecord] | None:
    """An import that is not over, and for whom it is; None for one that is, or is gone."""
    row = Import.objects.unscoped("resuming").filter(pk=key, state__in=_OPEN, owner__isnull=False).first()
    if row is None:
        return None
    attributes = scopes.all_scopes().get(row.scope_id, {})
    return Actor("import", user_id=row.owner_id, attributes=attributes, actions=frozenset({"ingest"})), _record(row)


def note_waiting(keys: Sequence[int], now_us: int) -> None:
    """These wait for others, and will be done."""
    rows = Import.objects.unscoped("its own").filter(pk__in=keys, state=ImportState.WAITING)
    if keys:
        writer.write(lambda: rows.update(updated_at=now_us))


def _mine(actor: Actor, action: Action) -> Any:
    rows = Import.objects.visible_to(actor, action)
    return rows if actor.is_admin else rows.filter(owner_id=actor.user_id or 0)


def run(
    actor: Actor,
    record: ImportRecord,
    files: Sequence[tuple[str, BinaryIO]],
    stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Take in these files, and close them; returns whether it is over. It is not where it was ``stopped``
    between two pieces, or the store is in trouble: then it may be run again. Raises nothing."""
    try:
        _finish(actor, record, files, stopped)
    except _Stopped:
        return False
    except Exception as error:
        if failures.unavailable(error, f"import={record.public_id}") is None:
            raise
        return False
    finally:
        for _, file in files:
            file.close()
    return True


def _finish(
    actor: Actor, record: ImportRecord, files: Sequence[tuple[str, BinaryIO]], stopped: Callable[[], bool]
) -> None:
    """What goes wrong stands in the record: whoever waits for it must learn that it is over."""
    try:
        report = _run(actor, record, files, stopped)
    except AgentsError as error:
        fail(record, error.message)
    except Exception as error:
        if isinstance(error, _Stopped) or failures.classify(error):
            raise
        log.exception("import=%s failed", record.public_id)
        fail(record, "The server could not finish it.")
    else:
        _note(record, ImportState.COMPLETED, report)


def fail(record: ImportRecord, words: str) -> None:
    """It is over, without success."""
    _note(record, ImportState.FAILED, error=words)


def _run(
    actor: Actor, record: ImportRecord, files: Sequence[tuple[str, BinaryIO]], stopped: Callable[[], bool]
) -> Report:
    importer = Importer(actor, agent=record.agent, session=record.session)
    pulse = _Pulse(record, importer.report, stopped)
    for name, file in files:
        file.seek(0)
        format_ = format_of_file(file) if record.format == AUTO else cast(FileFormat, record.format)
        if format_ is None:
            importer.report.skip(name, 0, UNKNOWN)
            continue
        importer.report.files += 1
        for piece in read_chunks(file, format_):
            importer.take(name, piece)
            pulse.beat()
    for _ in importer.settle():
        pulse.beat()
    return importer.report


class _Stopped(Exception):
    """The server goes before the import is done."""


class _Pulse:
    """Tells how far an import is, not more often than is read."""

    def __init__(self, record: ImportRecord, report: Report, stopped: Callable[[], bool]) -> None:
        self._record, self._report, self._stopped = record, report, stopped
        self._next = 0.0
        self.beat()

    def beat(self) -> None:
        """Raises _Stopped where it is to stop."""
        if self._stopped():
            _note(self._record, ImportState.WAITING, self._report)
            raise _Stopped
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_S
            _note(self._record, ImportState.RUNNING, self._report)


def _note(record: ImportRecord, state: ImportState, report: Report | None = None, error: str = "") -> None:
    changes: dict[str, Any] = {"state": state, "error": error[:500], "updated_at": ids.now_us()}
    if report is not None:
        changes["report"] = told(report)
    rows = Import.objects.unscoped("its own").filter(pk=record.key)
    writer.write(lambda: rows.update(**changes))


# ------------------------------------------------------------------------------------------ its report


def told(report: Report) -> dict[str, Any]:
    """A report as plain JSON; sessions by their public ids."""
    return {
        **{name: getattr(report, name) for name in _COUNTS},
        "skipped": [list(skip) for skip in report.skipped],
        "reasons": dict(report.reasons.most_common(100)),
        "sessions": [ids.public(ids.Kind.SESSION, key) for key in report.sessions],
    }


_COUNTS = ("files", "lines", "size", "spans", "new", "known", "changed", "ignored")


def _report(stored: dict[str, Any]) -> Report:
    sessions = (ids.parse(ids.Kind.SESSION, public) for public in stored.get("sessions", ()))
    return Report(
        **{name: int(stored.get(name, 0)) for name in _COUNTS},
        skipped=[(name, line, reason) for name, line, reason in stored.get("skipped", ())],
        reasons=Counter(stored.get("reasons", {})),
        sessions=[key for key in sessions if key is not None],
    )


def _record(row: Import) -> ImportRecord:
    state, updated = ImportState(row.state).label, to_us(row.updated_at)
    if row.state in _OPEN and updated < ids.now_us() - SILENCE_US:
        state = "interrupted"
    return ImportRecord(
        key=row.pk,
        name=row.name,
        format=row.format,
        agent=row.agent,
        session=row.session,
        state=state,
        size=row.size,
        error=row.error,
        created_at=to_us(row.created_at),
        updated_at=updated,
        report=_report(row.report),
    )
