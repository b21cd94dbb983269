"""The change feed: the changed records in commit order, for everything that follows the rows.

A job *notes* changes while it writes; at the end of the transaction they become rows, each record
once; after the commit the listeners are notified.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection

from agents.base.models.changes import Change, ChangeKind

_pending = threading.local()
_LOCK = 0x61676E74
"""PostgreSQL advisory lock: numbers of the feed are taken in commit order."""

ROWS_PER_INSERT = 1_000
"""Rows of one statement: databases limit its values."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """The changes of one commit: the feed's number after it, and (kind, key) pairs in order."""

    seq: int
    records: tuple[tuple[int, int], ...]


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
    if connection.vendor == "postgresql":
        # without it a row that commits late would get a number readers are already past
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    rows = [(kind, key, deleted) for (kind, key), deleted in noted.items()]
    seqs = [_insert(rows[start : start + ROWS_PER_INSERT]) for start in range(0, len(rows), ROWS_PER_INSERT)]
    return ChangeBatch(seqs[-1], tuple(noted))


def _insert(rows: list[tuple[int, int, bool]]) -> int:
    """Insert rows, and return the feed's number after them."""
    marks = ", ".join(["(%s, %s, %s)"] * len(rows))
    with connection.cursor() as cursor:
        sql = f"INSERT INTO agents_change (kind, key, deleted) VALUES {marks} RETURNING seq"  # noqa: S608 - marks only
        cursor.execute(sql, [value for row in rows for value in row])
        return max(int(row[0]) for row in cursor.fetchall())


def notify(changed: ChangeBatch | None) -> None:
    """Notify the listeners, after the commit."""
    if changed is not None:
        for listener in list(_listeners):
            listener(changed)


def latest() -> int:
    """Return the number of the newest change, 0 when there is none."""
    return Change.objects.order_by("-seq").values_list("seq", flat=True).first() or 0


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


def after(seq: int, limit: int = 1000) -> ChangeBatch | None:
    """Return the changes after ``seq``, at most ``limit`` rows; None when there are none."""
    rows = list(Change.objects.filter(seq__gt=seq).order_by("seq").values_list("seq", "kind", "key")[:limit])
    if not rows:
        return None
    return ChangeBatch(rows[-1][0], tuple(dict.fromkeys((kind, key) for _, kind, key in rows)))
