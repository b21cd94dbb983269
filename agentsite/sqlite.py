"""What a SQLite file has to be told once, when it is new, and whose it is. All else is said by each
connection (see ``settings``); the first would take the writer's lock every time."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

OTHERS_MASK = 0o077
"""The rights of everybody but the owner."""


def create_file(config: dict[str, Any]) -> None:
    """Make the file of a database's settings, if it is to be one and is not there yet, so that it
    gives back the pages of what is deleted. Raises sqlite3.OperationalError."""
    path = _file(config)
    if path is None or path.exists():
        return
    with suppress(OSError):  # SQLite says better why it cannot be made
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(path)) as file:
        # in this order: the last one writes the first page
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
            file.execute(f"PRAGMA {pragma}")


def make_private(config: dict[str, Any]) -> list[Path]:
    """Take the files of a database from all but their owner; returns those that stay open to others.
    SQLite gives the two beside the first the rights of the first, when it makes them."""
    path = _file(config)
    if path is None:
        return []
    return [file for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")) if not _is_private(file)]


def _is_private(path: Path) -> bool:
    """After it was tried. A file that is not there is."""
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
