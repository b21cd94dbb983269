"""Much input of a session that is yet to be: its items are written some at a time, before the turn they belong to.

Until the turn is made, nobody sees the session: it is one that is being removed, only that its time comes later. What
a process left in the middle when it ended goes with all else that was removed (`agents.record.store.removal.go_on`).
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
"""Items that are written in one job."""
MAX_WAIT_US = 600 * 1_000_000
"""How long a session waits for its turn: far longer than the writing of it takes."""

_HIDE = "UPDATE agents_session SET removed_at = %s WHERE id = %s"
_LEAVE = f"{_HIDE} AND removed_at IS NOT NULL"
_SHOW = "UPDATE agents_session SET removed_at = NULL WHERE id = %s AND removed_at IS NOT NULL"


@contextmanager
def staged(actor: Actor, new: NewSession, turn: int, items: Sequence[NewItem]) -> Iterator[None]:
    """Within the block a session is stored that nobody sees yet, with the items its first turn will have; what is done
    in it makes the turn. Where that fails, all of it may be taken away."""
    writer.write(partial(_add, actor, new))
    try:
        for start in range(0, len(items), ITEMS_PER_JOB):
            writer.write(partial(history.append, new.key, turn, start, items[start : start + ITEMS_PER_JOB]))
        yield
    except Exception:  # raised again, once what is half made is taken away
        with suppress(DatabaseError):  # then its time is over later
            writer.write(lambda: execute(_LEAVE, ids.now_us(), new.key))
        raise


def _add(actor: Actor, new: NewSession) -> None:
    sessions.add(actor, new)
    execute(_HIDE, ids.now_us() + MAX_WAIT_US, new.key)


def show(session: int) -> None:
    """Let a session be seen, within the transaction that makes its turn. Raises InvalidRequest where it is gone."""
    if not execute(_SHOW, session):
        raise InvalidRequest("The session was deleted just now.", code="session_deleted")
