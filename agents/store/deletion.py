"""Deleting for good: sessions with everything below them, by explicit id lists.

Django's own cascade would load every row; here each table is emptied by one statement per
hundred turns, children first.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import connection

from agents import ids
from agents.errors import Conflict
from agents.models import (
    ChangeKind,
    DeltaBatch,
    Event,
    EventPack,
    Item,
    Response,
    Session,
    Step,
    StepDetail,
    Turn,
    TurnBody,
    TurnTag,
)
from agents.models.choices import LIVE
from agents.store import changes, memory, search

CHUNK = 100


def delete_sessions(keys: list[int]) -> None:
    """Delete sessions within the caller's transaction. Raises Conflict while a turn of one runs."""
    for chunk in _chunks(keys):
        _refuse_running(chunk)
        turns = list(Turn.objects.unscoped("delete").filter(session_id__in=chunk).values_list("pk", flat=True))
        for part in _chunks(turns):
            delete_turns(part)
        Item.objects.unscoped("delete").filter(session_id__in=chunk)._raw_delete("default")
        memory.drop(memory.of_sessions(chunk))
        Session.objects.unscoped("delete").filter(pk__in=chunk)._raw_delete("default")
        for key in chunk:
            changes.note(ChangeKind.SESSION, key, deleted=True)


def _refuse_running(sessions: list[int]) -> None:
    running = Turn.objects.unscoped("delete").filter(session_id__in=sessions, status__in=LIVE)
    session = running.values_list("session_id", flat=True).first()
    if session is not None:
        public_id = ids.public(ids.Kind.SESSION, session)
        raise Conflict(f"Session '{public_id}' has a turn in progress; cancel it first.", code="session_busy")


def delete_turns(turns: list[int]) -> None:
    """Delete turns with everything below them, within the caller's transaction."""
    steps = list(Step.objects.unscoped("delete").filter(turn_id__in=turns).values_list("pk", flat=True))
    search.remove(turns, steps)
    Item.objects.unscoped("delete").filter(turn_id__in=turns)._raw_delete("default")
    for part in _chunks(steps):
        StepDetail.objects.filter(step_id__in=part)._raw_delete("default")
    for model in (Step, Response, TurnBody):
        model.objects.unscoped("delete").filter(turn_id__in=turns)._raw_delete("default")
    for journal in (Event, DeltaBatch, EventPack, TurnTag):
        journal.objects.filter(turn_id__in=turns)._raw_delete("default")
    Turn.objects.unscoped("delete").filter(parent_id__in=turns).update(parent=None)
    Turn.objects.unscoped("delete").filter(pk__in=turns)._raw_delete("default")
    for key in turns:
        changes.note(ChangeKind.TURN, key, deleted=True)


def _chunks(keys: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]


def reclaim() -> None:
    """Give pages freed by deletions back to the file system (SQLite)."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA incremental_vacuum(1000)").fetchall()
