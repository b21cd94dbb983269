"""``turnlog copy_to_postgres``: copies the whole SQLite database into an empty database of PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection


class Command(BaseCommand):
    help = "Copy all data of SQLite into an empty database of PostgreSQL, and compare it. Stop the server before."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="postgres://user:password@host/name")

    def handle(self, *args: Any, url: str, **options: Any) -> None:
        if connection.vendor != "sqlite":
            raise CommandError("DATABASE_URL names no SQLite database: there is nothing to copy from.")
        if not url.startswith(("postgres://", "postgresql://")):
            raise CommandError("The URL of the new database begins with postgres://")
        with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix="copy-") as folder:
            file = Path(folder) / "copy.zip"
            call_command("backup", str(file), stdout=self.stdout)
            self._restore(file, url)
        self.stdout.write("Start the server with DATABASE_URL set to it, and with the same DATA_DIR.")

    @staticmethod
    def _restore(file: Path, url: str) -> None:
        """Restore in a process of its own: it has the other database as the only one."""
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL_FILE"}
        line = [sys.executable, "-m", "django", "restore", str(file)]
        done = subprocess.run(line, cwd=settings.BASE_DIR, env={**environment, "DATABASE_URL": url}, check=False)  # noqa: S603 - a command of ours
        if done.returncode:
            raise CommandError("The copy was not made; the new database is as it was, or has empty tables.")
