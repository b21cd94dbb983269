"""A PostgreSQL server for the tests: the one named, the one on this machine, or one of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg


@contextmanager
def server() -> Iterator[str | None]:
    """The URL of a server in which databases can be made; None where there is none."""
    named = os.environ.get("TEST_DATABASE_URL")
    if named:
        yield named
        return
    for url in ("postgres://postgres@127.0.0.1:5432/postgres",):
        if _answers(url):
            yield url
            return
    with _own() as own:
        yield own


def _answers(url: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=3):
        return True
    return False


@contextmanager
def _own() -> Iterator[str | None]:
    """A server in a temporary folder, installed first where that is possible."""
    binaries = _binaries()
    if binaries is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        data, port = Path(folder) / "data", free_port()
        as_user = _unprivileged(folder)
        initdb = [*as_user, f"{binaries}/initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-N"]
        subprocess.run(initdb, check=True, capture_output=True)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        control = [*as_user, f"{binaries}/pg_ctl", "-D", str(data), "-w", "-l", f"{folder}/log"]
        subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True)
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], check=False)
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def _unprivileged(folder: str) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid():
        return []
    shutil.chown(folder, "postgres")
    return ["runuser", "-u", "postgres", "--"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
