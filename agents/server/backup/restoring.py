"""Fill an empty database from a backup: tables as they were then, rows in one transaction, newer migrations."""

from __future__ import annotations

from collections.abc import Callable

from django.core.management import call_command
from django.core.management.color import no_style
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from agents.base.store.claims import ClaimKind, claimed
from agents.base.store.sql import execute, insert_many
from agents.knowledge.store import passages
from agents.record.store import search
from agents.server.backup import rows, snapshots, tables
from agents.server.backup.archives import Archive, BackupError, TableContent, compare
from agents.server.backup.rows import ContentHash, Row
from agents.server.backup.tables import BackupTable

FILLED_BY_MIGRATIONS = frozenset({"django_content_type", "auth_permission"})
"""Tables that have rows in an empty database."""
OnTable = Callable[[TableContent], None]


def check(archive: Archive) -> None:
    """Raise BackupError unless this version can restore a backup, and the database is empty."""
    _check_version(archive)
    _check_empty(archive)


def _check_version(archive: Archive) -> None:
    known = tables.known_migrations()
    migrations = archive.manifest.migrations
    unknown = [f"{app}.{name}" for app, names in migrations.items() for name in names if (app, name) not in known]
    if unknown:
        message = f"{archive.path} is of a newer version of this program (with {unknown[-1]}): install that one first."
        raise BackupError(message, code="backup_newer")


def _check_empty(archive: Archive) -> None:
    names = set(connection.introspection.table_names())
    if not names:
        return
    migrations = tables.applied_migrations()
    for table in tables.tables_at(migrations):
        if table.name in names - FILLED_BY_MIGRATIONS and _has_rows(table.name):
            message = f"The database is not empty ({table.name} has rows): a backup is restored into an empty one only."
            raise BackupError(message, code="database_not_empty")
    of_backup = archive.manifest.migrations
    later = [f"{app}.{name}" for app, listed in migrations.items() for name in listed if name not in of_backup[app]]
    if later:
        message = f"The database has newer tables than the backup ({later[-1]}): give it a database without tables."
        raise BackupError(message, code="database_not_empty")


def _has_rows(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT 1 FROM "{table}" LIMIT 1')  # noqa: S608 - names of ours
        return cursor.fetchone() is not None


def restore(archive: Archive, on_table: OnTable = lambda _: None) -> None:
    """Restore a backup that `check` has let pass, compare what the database has then with what was written, and
    bring it to the present version. Nothing is left in the tables where it fails; a server that starts meanwhile
    waits. Raises BackupError."""
    with claimed(ClaimKind.START):
        _check_empty(archive)  # a server may have started since
        migrate_to(archive.manifest.migrations)
        _fill(archive, on_table)
        call_command(DjangoMigrate(), verbosity=0)  # ours would wait for the claim
        passages.index_all()
    if connection.vendor == "postgresql":
        execute("ANALYZE")


def _fill(archive: Archive, on_table: OnTable) -> None:
    with transaction.atomic():
        for name in FILLED_BY_MIGRATIONS:
            execute(f'DELETE FROM "{name}"')  # noqa: S608 - constants
        for content in archive.manifest.tables:
            for batch in archive.batches(content.table):
                _insert(content.table, batch)
        _set_sequences(archive.manifest.migrations)
        reader = snapshots.in_transaction()
        for expected in archive.manifest.tables:
            content_hash = ContentHash(expected.table)
            for batch in reader.batches(expected.table):
                content_hash.add(batch, rows.encode(batch))
            compare(expected, content_hash, "The restored database")
            on_table(expected)


def migrate_to(migrations: dict[str, list[str]]) -> None:
    """Create the tables as they are after these migrations. Nothing may be migrated further already."""
    MigrationExecutor(connection).migrate(tables.last_of(migrations))


def _insert(table: BackupTable, batch: list[Row]) -> None:
    if connection.vendor == "sqlite":
        values, columns = rows.convert(table, batch, rows.TO_SQLITE), table.names()
    elif table.is_index:
        parts = [column.name for column in table.columns[1:]]
        values = [[*row, *map(search.vector, row[1:])] for row in batch]
        columns = [*table.names(), *(f"{part}_words" for part in parts)]
    else:
        values, columns = batch, table.names()
    head = f'INSERT INTO "{table.name}"({", ".join(f"{chr(34)}{name}{chr(34)}" for name in columns)})'
    insert_many(head, f"({', '.join(['%s'] * len(columns))})", "", values, has_text=False)


def _set_sequences(migrations: dict[str, list[str]]) -> None:
    """Let numbers that the database gives begin behind those that were given (SQLite looks for itself)."""
    models = list(tables.models_of(tables.apps_at(migrations)))
    for statement in connection.ops.sequence_reset_sql(no_style(), models):
        execute(statement)
