"""Read all rows of the database as of one moment, while others write.

SQLite: a copy by its online backup, in one step: readers and writers of a database with a write-ahead log do not wait
for it. PostgreSQL: a transaction of its own that sees one snapshot, read by ``COPY``.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.db import connection

from agents.server.backup import rows
from agents.server.backup.rows import Row
from agents.server.backup.tables import BackupTable


class SqliteRows:
    """Reads tables through a connection of ``sqlite3``."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self._raw = raw

    def batches(self, table: BackupTable) -> Iterator[list[Row]]:
        """Yield the rows of a table in the order of its key, as plain values."""
        with closing(self._raw.cursor()) as cursor:
            cursor.row_factory = None
            for batch in rows.batches(cursor.execute(table.select())):
                yield rows.convert(table, batch, rows.FROM_SQLITE)


class PostgresqlRows:
    """Reads tables through a connection of ``psycopg``."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        raw.execute("SET LOCAL timezone = 'UTC'")
        raw.execute("SET LOCAL bytea_output = 'hex'")

    def batches(self, table: BackupTable) -> Iterator[list[Row]]:
        """Yield the rows of a table in the order of its key, as plain values; texts sort as on SQLite."""
        with self._raw.cursor() as cursor, cursor.copy(f"COPY ({table.select()}) TO STDOUT") as copy:
            for batch in rows.batches(copy.rows()):
                yield rows.convert(table, batch, rows.FROM_POSTGRESQL)


Rows = SqliteRows | PostgresqlRows


def in_transaction() -> Rows:
    """Return a reader of what the present transaction sees, its own writes among that."""
    raw: Any = connection.connection
    return SqliteRows(raw) if connection.vendor == "sqlite" else PostgresqlRows(raw)


@contextmanager
def snapshot(folder: Path) -> Iterator[Rows]:
    """Return a reader of the database as it is now. On SQLite the copy is in ``folder`` meanwhile: as much room as the
    database takes is needed there. Raises OSError, sqlite3.Error and errors of psycopg."""
    if connection.vendor == "sqlite":
        with _sqlite_copy(folder) as raw:
            yield SqliteRows(raw)
        return
    # of its own: the transaction must not be one that writes
    with closing(connection.get_new_connection(connection.get_connection_params())) as raw:
        raw.autocommit = True
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield PostgresqlRows(raw)


@contextmanager
def _sqlite_copy(folder: Path) -> Iterator[sqlite3.Connection]:
    path = folder / f".copy-{os.getpid()}.sqlite3"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(path)) as copy:
            with closing(sqlite3.connect(f"file:{connection.settings_dict['NAME']}?mode=ro", uri=True)) as source:
                source.backup(copy)
            yield copy
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
