"""Stores a new session with a large input: its items are written in several jobs, before the turn they belong to.

Until the turn is stored, the session is invisible: it is marked as removed, at a time in the future. What a process
left when it ended is deleted with all other removed sessions (`agents.record.store.removal.continue_removals`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from django.db import DatabaseError

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.base.store.sql import execute
from agents.base.store.writer import writer
from agents.record.store import history, sessions
from agents.record.store.history import NewItem
from agents.record.store.sessions import NewSession

ITEMS_PER_JOB = 2_000
"""Most items written in one job."""
MAX_WAIT_US = 600 * 1_000_000
"""How long a session waits for its turn: far longer than the writing of it takes."""

_HIDE = "UPDATE agents_session SET removed_at = %s WHERE id = %s"
_LEAVE = f"{_HIDE} AND removed_at IS NOT NULL"
_SHOW = "UPDATE agents_session SET removed_at = NULL WHERE id = %s AND removed_at IS NOT NULL"


@contextmanager
def staged(actor: Actor, new: NewSession, turn: int, items: Sequence[NewItem]) -> Iterator[None]:
    """Store an invisible session with the items of its first turn; the block then stores the turn. If the block fails,
    the session is left for removal."""
    writer.write(partial(_add, actor, new))
    try:
        for start in range(0, len(items), ITEMS_PER_JOB):
            writer.write(partial(history.append, new.key, turn, start, items[start : start + ITEMS_PER_JOB]))
        yield
    except Exception:  # raised again, once the incomplete session is left for removal
        with suppress(DatabaseError):  # else it is removed after `MAX_WAIT_US`
            writer.write(lambda: execute(_LEAVE, ids.now_us(), new.key))
        raise


def _add(actor: Actor, new: NewSession) -> None:
    sessions.add(actor, new)
    execute(_HIDE, ids.now_us() + MAX_WAIT_US, new.key)


def show(session: int) -> None:
    """Make a session visible, within the transaction that stores its turn. Raises InvalidRequest if it was deleted."""
    if not execute(_SHOW, session):
        raise InvalidRequest("The session was deleted just now.", code="session_deleted")
