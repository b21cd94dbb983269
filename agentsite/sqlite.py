"""Creates SQLite files with their permanent settings, and keeps them private to their owner.

Each connection sets the other pragmas (see ``settings``); these would take the writer's lock every time."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from agents.base.store.sqlite import ENGINE

OTHERS_MASK = 0o077
"""Mode bits of everybody but the owner."""


def create_file(config: dict[str, Any]) -> None:
    """Create the file of a SQLite database if it does not exist yet, so that it can release the pages of deleted rows.
    Nobody ever opens half of it. Raises sqlite3.OperationalError."""
    path = file_of(config)
    if path is None or path.exists():
        return
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):  # SQLite has the better message for why it cannot be created
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    with closing(sqlite3.connect(part)) as file:
        # in this order: the last one writes the first page
        for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", "journal_mode=WAL"):
            file.execute(f"PRAGMA {pragma}")
    with suppress(FileExistsError):  # another process was first
        os.link(part, path)
    part.unlink()


@contextmanager
def without_reference_checks(database: BaseDatabaseWrapper) -> Iterator[None]:
    """Within the block, do not read all tables behind each migration to see whether every reference has its row. Only
    for migrations that delete no row and change no key, so that no reference can lose its row by them: in a store of
    five million steps each such reading takes six seconds."""
    checks = database.check_constraints
    # the schema editor calls it on its way out, whatever was done, and Django has no option for that
    database.check_constraints = lambda table_names=None: None  # type: ignore[method-assign]  # for the block
    try:
        yield
    finally:
        database.check_constraints = checks  # type: ignore[method-assign]  # later callers are checked again


def make_private(config: dict[str, Any]) -> list[Path]:
    """Restrict the files of a database to their owner; return those that stay open to others. SQLite creates the WAL
    and shared memory files with the mode of the database file."""
    path = file_of(config)
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


def file_of(config: dict[str, Any]) -> Path | None:
    """Return the file of a database; None where it is another engine's, or in memory."""
    path = str(config["NAME"])
    has_file = config["ENGINE"] == ENGINE and path != ":memory:" and "mode=memory" not in path
    return Path(path) if has_file else None
