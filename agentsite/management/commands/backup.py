"""``turnlog backup``: writes the whole database into one file, while a server runs."""

from __future__ import annotations

import sqlite3
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from agents.server.backup import tables
from agents.server.backup.archives import Archive, ArchiveWriter, BackupError, Manifest, private_file
from agents.server.backup.snapshots import Rows, snapshot
from agentsite import id_secrets


class Command(BaseCommand):
    help = "Write all data into one file that `restore` reads, on SQLite and PostgreSQL, while servers run."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="a new file, or a folder for one named after the time")

    def handle(self, *args: Any, path: Path, **options: Any) -> None:
        try:
            file = path / f"backup-{datetime.now(UTC):%Y%m%d-%H%M%S}.zip" if path.is_dir() else path
            manifest = write(file)
        except BackupError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror or error}") from error
        except (DatabaseError, sqlite3.Error, psycopg.Error) as error:
            raise CommandError(f"Cannot read the database: {str(error).strip().splitlines()[0]}") from error
        self._tell(file, manifest)

    def _tell(self, file: Path, manifest: Manifest) -> None:
        filled = [content for content in manifest.tables if content.rows]
        for content in filled:
            self.stdout.write(f"  {content.rows:>12,}  {content.table.name}")
        self.stdout.write(
            f"Wrote {manifest.rows:,} rows of {len(filled)} tables to {file} ({file.stat().st_size:,} bytes), "
            f"at migration {manifest.last_migration}, and read them back: counts and hashes are right."
        )
        if manifest.has_secret:
            self.stdout.write("It holds DATA_DIR/secret, which forms the public ids and signs logins: keep it private.")
        else:
            self.stdout.write(
                "The secret that forms the public ids comes from the environment and is not in it: keep ID_SECRET "
                "(or SECRET_KEY) elsewhere: a server does not start on this data with another one."
            )


def write(path: Path) -> Manifest:
    """Write a backup and read it back. Raises BackupError, OSError, errors of the databases."""
    with private_file(path) as file:
        with snapshot(path.absolute().parent) as source, ArchiveWriter(file) as writer:
            manifest = _write(writer, source)
        file.flush()
        Archive(Path(file.name)).verify()
    return manifest


def _write(writer: ArchiveWriter, source: Rows) -> Manifest:
    migrations = tables.applied_migrations()
    if "agents" not in migrations:
        raise BackupError("The database has no tables yet: there is nothing to back up.")
    contents = [writer.add_table(table, source) for table in tables.tables_at(migrations)]
    secret = id_secrets.file_content()
    manifest = Manifest(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=connection.vendor,
        version=str(settings.SPECTACULAR_SETTINGS["VERSION"]),
        migrations=migrations,
        id_secret=id_secrets.fingerprint(),
        has_secret=secret is not None,
        tables=contents,
    )
    writer.finish(manifest, secret)
    return manifest
