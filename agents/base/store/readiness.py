"""Whether the store can be written: asked by those who send requests elsewhere when it cannot.

A look costs little and is shared for a second. It takes the place for writing and gives it back, which
says nothing of the room there is: that is asked of the disk, and of how the last writes went.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from django.conf import settings
from django.db import connection

from agents.base.store import failures
from agents.base.store.busy_timeout import waiting_at_most

ROOM = 64 * 2**20
"""Bytes that must be free on the disk: SQLite's log alone may grow to that."""
KEPT_S = 1.0
"""How long a look counts, and how long it waits for the place to write."""
RECENT_S = 5.0
"""How long a write that failed counts."""


_lock = threading.Lock()
_words, _until = "", 0.0
"""The newest look, and until when it counts."""


def problem() -> str:
    """What keeps the store from being written, in words for everybody; empty when nothing does."""
    global _words, _until
    with _lock:
        if time.monotonic() >= _until:
            _words = _look()
            _until = time.monotonic() + KEPT_S
        return _words


def forget() -> None:
    """The next to ask has a look."""
    global _until
    _until = 0.0


def _look() -> str:
    try:
        found = failures.failure_log.recent(RECENT_S) or _trouble_with_room() or _trouble_with_place()
    except Exception as error:
        found = failures.classify(error)
        if found is None:
            raise
        failures.failure_log.record(found, error, "readyz")
    return f"the database {found.message}" if found else ""


def _trouble_with_room() -> failures.StoreFailure | None:
    free = min(_free(folder) for folder in _folders())
    return failures.FULL if free < ROOM else None


def _folders() -> set[Path]:
    """Where this process keeps what it writes."""
    kept = {Path(settings.DATA_DIR)}
    if connection.vendor == "sqlite":
        kept.add(Path(connection.settings_dict["NAME"]).parent)
    return {folder for folder in kept if folder.is_dir()} or {Path("/")}


def _free(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def _trouble_with_place() -> failures.StoreFailure | None:
    if connection.in_atomic_block:
        return None
    with waiting_at_most(KEPT_S), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("BEGIN IMMEDIATE")
            cursor.execute("ROLLBACK")
            return None
        cursor.execute("SHOW transaction_read_only")  # also where another server has taken this one's place
        return failures.READ_ONLY if cursor.fetchone()[0] == "on" else None
