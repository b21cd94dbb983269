"""Creates SQLite files with their permanent settings, and keeps them private to their owner.

Each connection sets the other pragmas (see ``settings``); these would take the writer's lock every time."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

OTHERS_MASK = 0o077
"""Mode bits of everybody but the owner."""


def create_file(config: dict[str, Any]) -> None:
    """Create the file of a SQLite database if it does not exist yet, so that it can release the pages of deleted rows.
    Raises sqlite3.OperationalError."""
    path = _file(config)
    if path is None or path.exists():
        return
    with suppress(OSError):  # SQLite has the better message for why it cannot be created
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as file:
        # in this order: the last one writes the first page
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
            file.execute(f"PRAGMA {pragma}")


def make_private(config: dict[str, Any]) -> list[Path]:
    """Restrict the files of a database to their owner; return those that stay open to others. SQLite creates the WAL
    and shared memory files with the mode of the database file."""
    path = _file(config)
    if path is None:
        return []
    return [file for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")) if not _is_private(file)]


def _is_private(path: Path) -> bool:
    """Make a file private and return whether it is; a missing file is."""
    try:
        mode = path.stat().st_mode
        if mode & OTHERS_MASK:
            path.chmod(mode & 0o777 & ~OTHERS_MASK)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _file(config: dict[str, Any]) -> Path | None:
    path = str(config["NAME"])
    has_file = config["ENGINE"] == "django.db.backends.sqlite3" and path != ":memory:" and "mode=memory" not in path
    return Path(path) if has_file else None
