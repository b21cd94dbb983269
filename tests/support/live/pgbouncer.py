"""A PgBouncer in transaction mode in front of a database: each transaction gets any of its connections."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import psycopg

from bench.postgresql import free_port
from tests.support.live.process import eventually

CONNECTIONS = 20
"""To the database: few, so that sessions of different clients do share them."""


@contextmanager
def pooled(url: str) -> Iterator[str]:
    """The URL of a database through a PgBouncer of its own, for as long as the block lasts. Raises FileNotFoundError
    where there is none and none can be installed."""
    program = _program()
    with TemporaryDirectory() as folder:
        port = free_port()
        settings = Path(folder) / "pgbouncer.ini"
        settings.write_text(_settings(url, port))
        settings.chmod(0o644)
        os.chmod(folder, 0o755)  # it refuses to run as root, and another user reads this
        as_user = [] if os.geteuid() else ["runuser", "-u", "postgres", "--"]
        process = subprocess.Popen([*as_user, program, "-q", str(settings)], stderr=subprocess.DEVNULL)
        through = urlsplit(url)._replace(netloc=f"postgres@127.0.0.1:{port}").geturl()
        try:
            eventually(lambda: _answers(through))
            yield through
        finally:
            process.terminate()
            process.wait(30)


def _program() -> str:
    if not shutil.which("pgbouncer") and os.geteuid() == 0 and shutil.which("apt-get"):
        # what its package starts by itself needs the same settings as nobody here, and is not used
        environment = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "pgbouncer"]):
            subprocess.run(["apt-get", *command], check=False, capture_output=True, env=environment)
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise FileNotFoundError("these tests need PgBouncer: install the package pgbouncer")
    return found


def _settings(url: str, port: int) -> str:
    parts = urlsplit(url)
    password = f" password={parts.password}" if parts.password else ""
    to = f"host={parts.hostname} port={parts.port or 5432} user={parts.username or 'postgres'}{password}"
    return f"""
[databases]
* = {to}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {CONNECTIONS}
max_client_conn = 500
"""


def _answers(url: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=3):
        return True
    return False
