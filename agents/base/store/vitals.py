"""The size of the database and the space that is left for it."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.db import connection


def database_bytes() -> int:
    """Return the size of the database, with SQLite's log."""
    if connection.vendor == "sqlite":
        return _size(_database_file()) + wal_bytes()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def wal_bytes() -> int:
    """Return the size of SQLite's write-ahead log; 0 on another database."""
    return _size(f"{_database_file()}-wal") if connection.vendor == "sqlite" else 0


def free_bytes() -> int:
    """Return the bytes that are free on the disks which this process writes to: on the fullest of them."""
    return min(_free(folder) for folder in _folders())


def _database_file() -> str:
    return str(connection.settings_dict["NAME"])


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _folders() -> set[Path]:
    """Return the folders that this process writes to."""
    folders = {Path(settings.DATA_DIR)}
    if connection.vendor == "sqlite":
        folders.add(Path(_database_file()).parent)
    return {folder for folder in folders if folder.is_dir()} or {Path("/")}


def _free(folder: Path) -> int:
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize
