"""Deletes sessions and turns with everything below them, within one job of the writer.
Large ones are deleted by `agents.record.store.removal`.

Which rows go with a record, their models declare (`agents.record.store.references`). What is no row that refers to a
record is done here:

* the reports that external turns were built from (`agents.record.store.deletion_hooks`);
* the sums and the last turn of a session that stays (`recount`);
* the changes, by which lists and copies notice what was deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connection

from agents.base import ids
from agents.base.errors import Conflict
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import execute
from agents.record.models.agents import Session
from agents.record.models.choices import EXTERNAL, LIVE
from agents.record.models.turns import Response, Step, Turn
from agents.record.store import deletion_hooks, references, totals
from agents.record.store.references import Plan

CHUNK_ROWS = 100
"""Most sessions, or turns, that are deleted together."""
MAX_STEP_CHANGES = 1_000
"""Most deleted steps of a turn that are noted as changes: a page shows fewer."""


def delete_sessions(keys: list[int]) -> None:
    """Delete sessions within the caller's transaction. Raises Conflict while a turn of one runs."""
    for chunk in _chunks(keys):
        lock(Session, chunk)
        refuse_running(chunk)
        turns = list(Turn.objects.unscoped("delete").filter(session_id__in=chunk).values_list("pk", flat=True))
        for part in _chunks(turns):
            _check_turns(part)
            deletion_hooks.drop_sources(part)
            _delete_turns(part, references.plan(Turn, part_of=Session))
        references.plan(Session).delete(chunk)
        _note(ChangeKind.SESSION, chunk)


def lock(model: type[Session] | type[Turn], keys: list[int]) -> None:
    """Lock rows, so that nobody starts or continues a turn of them before the transaction ends."""
    rows = model.objects.unscoped("delete").select_for_update().filter(pk__in=keys).order_by("pk")
    list(rows.values_list("pk", flat=True))


def refuse_running(sessions: list[int]) -> None:
    """Raise Conflict while a turn of one of these sessions runs."""
    refuse(Turn.objects.unscoped("delete").filter(session_id__in=sessions, status__in=LIVE))


def refuse(running: Any) -> None:
    """Raise Conflict, naming the session, if there is any of these running turns."""
    session = running.values_list("session_id", flat=True).first()
    if session is not None:
        public_id = ids.public(ids.Kind.SESSION, session)
        raise Conflict(f"Session '{public_id}' has a turn in progress; cancel it first.", code="session_busy")


_SET_LAST_TURN = (
    "UPDATE agents_session SET last_turn = (SELECT remaining.id FROM agents_turn AS remaining "
    "WHERE remaining.session_id = agents_session.id "
    "AND NOT EXISTS (SELECT 1 FROM agents_fork AS fork WHERE fork.turn_id = remaining.id) "
    "ORDER BY remaining.number DESC LIMIT 1) WHERE id = %s AND removed_at IS NULL"
)
"""Sets a session's last turn: the last one that is no fork."""


def delete_turns(turns: list[int], *, for_good: bool = True) -> None:
    """Delete turns with everything below them, within the caller's transaction. Without ``for_good`` the reports of
    external turns stay, for building other turns of them. Raises Conflict for a turn that runs here."""
    _check_turns(turns)
    if for_good:
        deletion_hooks.drop_sources(turns)
    sessions = _remaining_sessions(turns)
    _delete_turns(turns, references.plan(Turn, part_of=None if sessions else Session))
    for session in sessions:
        recount(session)


def _check_turns(turns: list[int]) -> None:
    """Lock turns. Raises Conflict for one that runs here."""
    lock(Turn, turns)
    running = Turn.objects.unscoped("delete").filter(pk__in=turns, status__in=LIVE).exclude(source__in=EXTERNAL)
    if running.exists():
        raise Conflict("The turn is in progress; cancel it first.", code="turn_running")


def _delete_turns(turns: list[int], plan: Plan) -> None:
    deleted = plan.delete(turns)
    _note(ChangeKind.TURN, turns)
    _note(ChangeKind.STEP, deleted.get(Step, [])[-MAX_STEP_CHANGES:])
    _note(ChangeKind.RESPONSE, deleted.get(Response, []))


def _note(kind: ChangeKind, keys: list[int]) -> None:
    for key in keys:
        changes.note(kind, key, deleted=True)


def recount(session: int) -> None:
    """Count a session's sums again from its turns, and find its last turn, within the caller's transaction."""
    totals.recount(session)
    execute(_SET_LAST_TURN, session)


def _remaining_sessions(turns: list[int]) -> set[int]:
    """Return the sessions of these turns, without those that are being removed: nobody reads these, and their newest
    turns are deleted first, so that nothing refers to a deleted turn."""
    rows = Turn.objects.unscoped("delete").filter(pk__in=turns, session__removed_at=None)
    return set(rows.values_list("session_id", flat=True))


def _chunks(keys: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), CHUNK_ROWS):
        yield keys[start : start + CHUNK_ROWS]


def reclaim() -> None:
    """Give pages freed by deletions back to the file system (SQLite)."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA incremental_vacuum(1000)").fetchall()
