"""The change feed: the changed records, numbered, for everything that follows the rows.

A job *notes* changes while it writes; at the end of the transaction they become rows, each record
once; after the commit the listeners are notified.

A reader goes on from a number, and must not be past one that commits late. On SQLite transactions that write follow
each other. On PostgreSQL they take their numbers from a sequence, and commit in any order. So each says, before it
takes numbers and until it has ended, above which number they will be: by a shared advisory lock, whose key says it.
A reader reads no further than the lowest of these. No writer waits for another, and none holds the readers up but
between its last statement and its commit, however long it runs.

(The order of transaction ids, with those below the oldest that runs as safe, would need no locks. But that is the
oldest of the whole server, other databases included, from its first write on, and a database that is restored on
another server begins with lower ids than its cursors have.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.db import connection

from agents.base.models.changes import Change, ChangeKind
from agents.base.store.cursors import database, direct_cursor, write_later

_pending = threading.local()
_LOCKS = 0x61676E74
"""PostgreSQL's advisory locks with this first key have in the second the number above which a transaction takes its
numbers, modulo `_KEYS`."""
_KEYS = 1 << 31
_SEQUENCE = "agents_change_seq_seq"
_LAST_NUMBER = f"SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM {_SEQUENCE}"  # noqa: S608 - a name
_PUBLISH = f"SELECT pg_advisory_xact_lock_shared({_LOCKS}, (({_LAST_NUMBER}) % {_KEYS})::int)"
_PUBLISHED = f"""
    SELECT objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND classid = {_LOCKS} AND objsubid = 2 AND pid <> pg_backend_pid()
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""  # noqa: S608 - a number

ROWS_PER_INSERT = 1_000
"""Rows of one statement: databases limit its values."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The changes of one commit, or several that were read: the feed's number after them, the changed records as
    (kind, key) in order, and the numbers of the rows, ascending."""

    seq: int
    records: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...]


_listeners: list[Callable[[ChangeBatch], None]] = []


def listen(listener: Callable[[ChangeBatch], None]) -> Callable[[], None]:
    """Call ``listener`` after each commit that changed something, from the writing thread.
    Returns the function that ends it."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


def note(kind: ChangeKind, key: int, *, deleted: bool = False) -> None:
    """Remember, within a transaction, that a record changed."""
    noted: dict[tuple[int, int], bool] = _pending.__dict__.setdefault("noted", {})
    noted[(int(kind), key)] = deleted


def forget() -> None:
    """Drop the noted changes: the transaction was rolled back."""
    _pending.__dict__.pop("noted", None)


def flush() -> ChangeBatch | None:
    """Write the noted changes as rows, as the last thing of a transaction."""
    noted: dict[tuple[int, int], bool] = _pending.__dict__.pop("noted", {})
    if not noted:
        return None
    if database().vendor == "postgresql":
        write_later(_PUBLISH)
    rows = [(kind, key, deleted) for (kind, key), deleted in noted.items()]
    numbers: list[int] = []
    for start in range(0, len(rows), ROWS_PER_INSERT):
        numbers += _insert(rows[start : start + ROWS_PER_INSERT])
    return ChangeBatch(numbers[-1], tuple(noted), tuple(numbers))


def _insert(rows: list[tuple[int, int, bool]]) -> list[int]:
    """Insert rows, and return their numbers in the feed, ascending."""
    marks = ", ".join(["(%s, %s, %s)"] * len(rows))
    with direct_cursor() as cursor:
        sql = f"INSERT INTO agents_change (kind, key, deleted) VALUES {marks} RETURNING seq"  # noqa: S608 - marks only
        cursor.execute(sql, [value for row in rows for value in row])
        return sorted(int(row[0]) for row in cursor.fetchall())


def notify(changed: ChangeBatch | None) -> None:
    """Notify the listeners, after the commit."""
    if changed is not None:
        for listener in list(_listeners):
            listener(changed)


def latest() -> int:
    """Return the number of the newest change below which none will appear any more, 0 when there is none. In a
    snapshot call it before its first statement: it knows what has been committed since."""
    rows = Change.objects.order_by("-seq")
    if connection.vendor == "postgresql":
        rows = rows.filter(seq__lte=_last_final())
    return rows.values_list("seq", flat=True).first() or 0


def _last_final() -> int:
    """Return a number such that all transactions with that or lower ones have ended; what they committed is seen by
    the next statement. The caller's own transaction does not count: it sees its rows itself."""
    with direct_cursor() as cursor:
        # first the last number: whoever has taken one up to it has published before, and ended if that is gone
        cursor.execute(_LAST_NUMBER)
        [last] = cursor.fetchone()
        cursor.execute(_PUBLISHED)
        distances = [(last - published) % _KEYS for (published,) in cursor.fetchall()]
    # what seems to be far below has been published since, and is above
    return int(last - max((distance for distance in distances if distance < _KEYS // 2), default=0))


MAX_CHANGES = 200_000
"""Changes that are retained; a reader further behind loads its page again."""


def prune() -> int:
    """Delete the oldest changes, in the caller's transaction; returns how many."""
    deleted, _ = Change.objects.filter(seq__lte=latest() - MAX_CHANGES).delete()
    return deleted


def is_pruned(seq: int) -> bool:
    """Tell whether changes after ``seq`` have been deleted, so that a reader there has missed some."""
    oldest = Change.objects.order_by("seq").values_list("seq", flat=True).first()
    return oldest is not None and oldest > seq + 1


MAX_ROWS = 1_000
"""Rows that are read at once."""


def after(seq: int, limit: int = MAX_ROWS, *, known: Collection[int] = ()) -> ChangeBatch | None:
    """Return the changes after ``seq``, at most ``limit`` rows; None when there are none, or transactions with lower
    numbers have not ended. The records of rows whose numbers are ``known`` are left out."""
    rows = _rows_after(seq, limit)
    if rows and connection.vendor == "postgresql" and rows[-1][0] - seq > len(rows):
        # numbers are missing: of transactions that failed, or that have not ended
        last = _last_final()
        rows = [row for row in _rows_after(seq, limit) if row[0] <= last]
    if not rows:
        return None
    records = dict.fromkeys((kind, key) for number, kind, key in rows if number not in known)
    return ChangeBatch(rows[-1][0], tuple(records), tuple(number for number, *_ in rows))


def _rows_after(seq: int, limit: int) -> list[tuple[int, int, int]]:
    return list(Change.objects.filter(seq__gt=seq).order_by("seq").values_list("seq", "kind", "key")[:limit])


def is_held_up(seq: int) -> bool:
    """Tell whether there are changes after ``seq`` that cannot be read yet, where `after` has found none."""
    return Change.objects.filter(seq__gt=seq).exists()
