"""``turnlog restore``: fills an empty database from a backup."""

from __future__ import annotations

import sqlite3
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from agents.server.backup import restoring, tables
from agents.server.backup.archives import Archive, BackupError, TableContent
from agentsite import id_secrets, sqlite


class Command(BaseCommand):
    help = "Fill an empty database from a file of `backup`, of either engine, and bring it to the present version."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            self._restore(file)
        except BackupError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{error.filename or file}: {error.strerror or error}") from error
        except (DatabaseError, sqlite3.Error, psycopg.Error) as error:
            raise CommandError(f"Cannot fill the database: {str(error).strip().splitlines()[0]}") from error

    def _restore(self, file: Path) -> None:
        archive = Archive(file)
        manifest = archive.manifest
        sqlite.create_file(settings.DATABASES["default"])
        restoring.check(archive)
        archive.verify()
        self.stdout.write(
            f"{file} is whole: {manifest.rows:,} rows of {manifest.engine}, written {manifest.made_at} "
            f"at migration {manifest.last_migration}."
        )
        restoring.restore(archive, self._tell)
        last = tables.applied_migrations()["agents"][-1]
        self.stdout.write(
            f"Restored {manifest.rows:,} rows into {connection.vendor} and compared them: counts and hashes are right. "
            f"The database is at migration {last}."
        )
        self._restore_secret(archive)

    def _tell(self, content: TableContent) -> None:
        if content.rows:
            self.stdout.write(f"  {content.rows:>12,}  {content.table.name}")

    def _restore_secret(self, archive: Archive) -> None:
        if archive.manifest.id_secret == id_secrets.fingerprint():
            return
        secret = archive.secret()
        if secret is not None and id_secrets.file_content() is not None:
            earlier = id_secrets.replace_file(secret)
            self.stdout.write(f"Put the backup's secret into DATA_DIR/secret; the one there before is in {earlier}.")
            return
        where = f"`unzip -p {archive.path} secret` prints it" if secret else "it is not in the backup"
        self.stderr.write(
            "The public ids of this backup were formed with another secret: set ID_SECRET to that one "
            f"({where}). Where it is lost, `turnlog migrate --accept-id-secret` takes the present one: every link "
            "and id handed out is void then."
        )
