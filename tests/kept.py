"""What takes long to make and is the same each time: the tables of a database, the data of a new server.

Files are kept beside the repository's other caches for as long as the sources stay as they are. A PostgreSQL
database is kept for one run of the tests; its server copies it faster than any migration runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg
from psycopg import sql

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".pytest_cache" / "kept"
DAY_S = 86_400.0

RUN = "TESTS_RUN"
"""Names a run of the tests in the environment of its workers."""


def kept(name: str, make: Callable[[Path], object]) -> Path:
    """A file or folder that ``make`` made at a path, in this run or an earlier one of the same sources. Whoever
    comes while it is being made waits."""
    folder = FOLDER / _sources()
    folder.mkdir(parents=True, exist_ok=True)
    path, new = folder / name, folder / f"{name}.new"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            shutil.rmtree(new, ignore_errors=True)
            new.unlink(missing_ok=True)
            make(new)
            new.rename(path)
            _forget_old(folder)
    return path


@cache
def _sources() -> str:
    """Changes with all that could be in the tables or in the data of a new server."""
    digest = hashlib.sha256(f"{sys.version} {sqlite3.sqlite_version} {django.VERSION}".encode())
    for root in ("agents", "agentsite", "static", "requirements.txt"):
        for path in sorted([ROOT / root, *(ROOT / root).rglob("*")]):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)} {path.stat().st_size} ".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _forget_old(folder: Path) -> None:
    """Remove what was kept of other sources and is not from today, which another run may still copy."""
    for other in folder.parent.iterdir():
        if other != folder and other.stat().st_mtime < time.time() - DAY_S:
            shutil.rmtree(other, ignore_errors=True)


def name_run() -> None:
    """Called once by the process that starts a run, before its workers."""
    os.environ[RUN] = secrets.token_hex(4)


def postgresql_template(url: str) -> str:
    """The database of a server that new ones are copied from: all tables, and no rows."""
    name = _template()
    with psycopg.connect(url, autocommit=True) as control:
        control.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])  # until the connection ends
        if control.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            new = f"{name}_new"
            control.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(new)))
            _migrate(urlsplit(url)._replace(path=f"/{new}").geturl())
            control.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(new), sql.Identifier(name)))
    return name


def drop_postgresql_template(url: str) -> None:
    """Called when all workers of the run are done."""
    with suppress(psycopg.OperationalError), psycopg.connect(url, autocommit=True) as control:
        for name in (_template(), f"{_template()}_new"):
            control.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _template() -> str:
    return f"agents_first_{os.environ[RUN]}"


def _migrate(url: str) -> None:
    """In a process of its own, with no settings but the product's."""
    with tempfile.TemporaryDirectory() as folder:
        system = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        environment = {**system, "DATA_DIR": folder, "DATABASE_URL": url}
        command = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
