"""Runs imports in the background of their requests, and stores their owner, progress and result."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.db.models import F, Q

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import AgentsError, NotFound
from agents.base.store import failures, scopes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.telemetry.models.imports import OPEN_STATES, Import, ImportState
from agents.telemetry.store.add_file import AUTO_FORMAT, add_file
from agents.telemetry.store.importer import Importer, ImportResult

log = logging.getLogger(__name__)

PROGRESS_EVERY_S = 1.0
"""How often a running import stores its progress."""
QUIET_AFTER_US = 5_000_000
"""A running import that stores no progress for this long may have lost its process."""
MAX_ATTEMPTS = 3
"""An import during which the server died this often is not tried again: it may be the cause."""
MAX_LISTED = 100
"""Unfinished imports that are listed at once."""


@dataclass(frozen=True, slots=True)
class NewImport:
    """The options of a new import. ``name`` is for people, ``size`` the bytes of all its files, ``file_names`` are
    theirs."""

    name: str
    size: int
    format: str = AUTO_FORMAT
    agent: str = ""
    session: str = ""
    file_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """An import. ``state`` is waiting, running, completed or failed. Timestamps are microseconds since 1970."""

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
    file_names: tuple[str, ...] = ()
    report: ImportResult = field(default_factory=ImportResult)

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.IMPORT, self.key)

    @property
    def is_over(self) -> bool:
        return self.state not in ("waiting", "running")


def create(actor: Actor, new: NewImport, key: int | None = None) -> ImportRecord:
    """Store an import that is to start, under this key or a new one."""
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
            file_names=list(new.file_names),
            created_at=now,
            updated_at=now,
        ).save(force_insert=True)

    writer.write(job)
    return _import_record(Import.objects.unscoped("made").get(pk=key))


def get(actor: Actor, public_id: str, action: Action = "ingest") -> ImportRecord:
    """An import of the actor's own, or anyone's for an admin. Raises NotFound."""
    row = _own_imports(actor, action).filter(pk=ids.parse(ids.Kind.IMPORT, public_id) or 0).first()
    if row is None:
        raise NotFound(f"Import '{public_id[:80]}' not found.")
    return _import_record(row)


def listing(actor: Actor, limit: int = 20) -> list[ImportRecord]:
    """The newest imports of the actor."""
    return [_import_record(row) for row in _own_imports(actor, "ingest").order_by("-pk")[:limit]]


def unfinished(now_us: int) -> list[tuple[Actor, ImportRecord]]:
    """The imports that no process seems to be at, the oldest first, each with the actor it runs for."""
    quiet = Q(state=ImportState.WAITING) | Q(updated_at__lt=to_datetime(now_us - QUIET_AFTER_US))
    return [(_actor_of(row), _import_record(row)) for row in _unfinished().filter(quiet).order_by("pk")[:MAX_LISTED]]


def begin(key: int) -> ImportRecord | None:
    """Count one more attempt at an import, which the caller has claimed; None where there is nothing to do: it is over,
    was deleted, or was tried too often."""
    row = _unfinished().filter(pk=key).first()
    if row is None:
        return None
    if row.attempts >= MAX_ATTEMPTS:
        fail(_import_record(row), f"The server stopped {MAX_ATTEMPTS} times while it was at it.")
        return None
    if not row.file_names:
        fail(_import_record(row), "An earlier version of the server accepted it; import the same again.")
        return None
    writer.write(lambda: _unfinished().filter(pk=key).update(attempts=F("attempts") + 1))
    return _import_record(row)


def _unfinished() -> Any:
    return Import.objects.unscoped("to be done").filter(state__in=OPEN_STATES, owner__isnull=False)


def _actor_of(row: Import) -> Actor:
    attributes = scopes.all_scopes().get(row.scope_id, {})
    return Actor("import", user_id=row.owner_id, attributes=attributes, actions=frozenset({"ingest"}))


def _own_imports(actor: Actor, action: Action) -> Any:
    rows = Import.objects.visible_to(actor, action)
    return rows if actor.is_admin else rows.filter(owner_id=actor.user_id or 0)


def run(
    actor: Actor,
    record: ImportRecord,
    files: Sequence[tuple[str, BinaryIO]],
    stopped: Callable[[], bool] = lambda: False,
) -> bool:
    """Import these files; returns whether the import is over. It is not where ``stopped`` said so
    between two chunks, or where the store is in trouble: then it may be run again. Raises nothing."""
    try:
        _run_and_record(actor, record, files, stopped)
    except _ImportStopped:
        return False
    except Exception as error:
        if failures.unavailable(error, f"import={record.public_id}") is None:
            raise
        return False
    return True


def _run_and_record(
    actor: Actor, record: ImportRecord, files: Sequence[tuple[str, BinaryIO]], stopped: Callable[[], bool]
) -> None:
    """Import the files, and store the result or the error: clients that wait must learn that the import is over."""
    try:
        report = _import_files(actor, record, files, stopped)
    except AgentsError as error:
        fail(record, error.message)
    except Exception as error:
        if isinstance(error, _ImportStopped) or failures.classify(error):
            raise
        log.exception("import=%s failed", record.public_id)
        fail(record, "The server could not finish it.")
    else:
        _update(record, ImportState.COMPLETED, report)


def fail(record: ImportRecord, message: str) -> None:
    """Mark an import as failed."""
    _update(record, ImportState.FAILED, error=message)


def _import_files(
    actor: Actor, record: ImportRecord, files: Sequence[tuple[str, BinaryIO]], stopped: Callable[[], bool]
) -> ImportResult:
    importer = Importer(actor, agent=record.agent, session=record.session)
    progress = _ProgressReporter(record, importer.report, stopped)
    for name, file in files:
        file.seek(0)
        for _ in add_file(importer, name, file, record.format):
            progress.report()
    for _ in importer.finish():
        progress.report()
    return importer.report


class _ImportStopped(Exception):
    """The server stops before the import is done."""


class _ProgressReporter:
    """Stores the progress of an import, at most every `PROGRESS_EVERY_S`."""

    def __init__(self, record: ImportRecord, report: ImportResult, stopped: Callable[[], bool]) -> None:
        self._record, self._report, self._stopped = record, report, stopped
        self._next = 0.0
        self.report()

    def report(self) -> None:
        """Store the progress where it is due. Raises _ImportStopped where the import is to stop."""
        if self._stopped():
            _update(self._record, ImportState.WAITING, self._report, attempts=F("attempts") - 1)
            raise _ImportStopped
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_EVERY_S
            _update(self._record, ImportState.RUNNING, self._report)


def _update(
    record: ImportRecord, state: ImportState, report: ImportResult | None = None, error: str = "", **more: Any
) -> None:
    columns: dict[str, Any] = {"state": state, "error": error[:500], "updated_at": ids.now_us(), **more}
    if report is not None:
        columns["report"] = report_json(report)
    rows = Import.objects.unscoped("its own").filter(pk=record.key)
    writer.write(lambda: rows.update(**columns))


# ------------------------------------------------------------------------------------------ its report


def report_json(report: ImportResult) -> dict[str, Any]:
    """A result as plain JSON; sessions by their public ids."""
    return {
        **{name: getattr(report, name) for name in _COUNTS},
        "skipped": [list(skip) for skip in report.skipped],
        "reasons": dict(report.reasons.most_common(100)),
        "sessions": [ids.public(ids.Kind.SESSION, key) for key in report.sessions],
    }


_COUNTS = ("files", "lines", "size", "spans", "new", "known", "changed", "ignored")


def _parse_report(stored: dict[str, Any]) -> ImportResult:
    sessions = (ids.parse(ids.Kind.SESSION, public) for public in stored.get("sessions", ()))
    return ImportResult(
        **{name: int(stored.get(name, 0)) for name in _COUNTS},
        skipped=[(name, line, reason) for name, line, reason in stored.get("skipped", ())],
        reasons=Counter(stored.get("reasons", {})),
        sessions=[key for key in sessions if key is not None],
    )


def _import_record(row: Import) -> ImportRecord:
    return ImportRecord(
        key=row.pk,
        name=row.name,
        format=row.format,
        agent=row.agent,
        session=row.session,
        state=ImportState(row.state).label,
        size=row.size,
        error=row.error,
        created_at=to_us(row.created_at),
        updated_at=to_us(row.updated_at),
        file_names=tuple(row.file_names),
        report=_parse_report(row.report),
    )
