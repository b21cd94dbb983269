"""The tables of a new database on SQLite, made by the migrations once and copied from then on."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases, teardown_databases

from tests.kept import kept


def copy() -> None:
    """Give this process a database of its own: a file, which goes with the folder it is in."""
    connection.close()
    copied = kept("tests.sqlite3", _make)
    name = connection.settings_dict["TEST"]["NAME"]
    shutil.copyfile(copied, name)
    connection.settings_dict["NAME"] = settings.DATABASES["default"]["NAME"] = name


def _make(path: Path) -> None:
    made = setup_databases(verbosity=0, interactive=False)
    with closing(sqlite3.connect(path)) as copy:
        connection.ensure_connection()
        connection.connection.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # all of it in the one file
    teardown_databases(made, verbosity=0)
