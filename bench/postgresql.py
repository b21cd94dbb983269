"""A PostgreSQL server of our own in a temporary folder, and databases on it. It is no part of what is measured: its
processes are its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from bench.faults import Skipped

CONNECTIONS = 500
"""Many more than a server lets in by default: several of ours are there at times."""


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(*settings: str) -> Iterator[str | None]:
    """The URL of a new server with these settings (``fsync=off``), for as long as the block lasts. PostgreSQL is
    installed first where that is possible; None where it is not there."""
    binaries = _binaries()
    if binaries is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        data, port = Path(folder) / "data", free_port()
        as_user = _unprivileged(folder)
        initdb = [*as_user, f"{binaries}/initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-N"]
        subprocess.run(initdb, check=True, capture_output=True)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        options += "".join(f" -c {setting}" for setting in (f"max_connections={CONNECTIONS}", *settings))
        control = [*as_user, f"{binaries}/pg_ctl", "-D", str(data), "-w", "-l", f"{folder}/log"]
        subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True)
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)


def server_pid(url: str) -> int:
    """The process of a server on this machine that all its others are children of."""
    with psycopg.connect(url) as connection:
        [data] = connection.execute("SHOW data_directory").fetchone() or [""]
    return int(Path(data, "postmaster.pid").read_text().split()[0])


def restart(url: str) -> None:
    """Stop a server that `started` has made, as an operator does, and start it again; returns once it takes
    connections."""
    _control(url, "-m", "fast", "restart")


def crash(url: str) -> None:
    """End a server as a power cut does; it does not start again."""
    _control(url, "-m", "immediate", "stop")


@contextmanager
def standby_of(url: str) -> Iterator[str]:
    """The URL of a server that repeats all that is written to another one, for as long as the block lasts. Whoever
    commits there from now on waits until it is here, too."""
    with tempfile.TemporaryDirectory() as folder:
        data, port = Path(folder) / "data", free_port()
        copy = [*_unprivileged(folder), f"{_binaries()}/pg_basebackup", "-D", str(data), "-d", url, "-R", "-c", "fast"]
        subprocess.run(copy, check=True, capture_output=True)
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        options += f" -c max_connections={CONNECTIONS} -c fsync=off"
        control = [*_unprivileged(folder), f"{_binaries()}/pg_ctl", "-D", str(data), "-w", "-l", f"{folder}/log"]
        subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        try:
            yield urlsplit(url)._replace(netloc=f"postgres@127.0.0.1:{port}").geturl()
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True)


def promote(url: str) -> None:
    """Let a standby take the place of the server that it repeated; returns once it can be written."""
    _control(url, "promote")


def _control(url: str, *what: str) -> None:
    with psycopg.connect(url) as connection:
        [data] = connection.execute("SHOW data_directory").fetchone() or [""]
    folder = Path(data).parent
    control = [*_unprivileged(str(folder)), f"{_binaries()}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
    subprocess.run([*control, *what], check=True, capture_output=True)


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


class Databases:
    """Databases by name, on a server that is started when the first one is asked for."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._url: str | None = None
        self._made: set[str] = set()

    def url(self, name: str) -> str:
        """The URL of a database, which is made when it is asked for first. Blocking. Raises Skipped where there is no
        PostgreSQL."""
        if self._url is None:
            self._url = self._stack.enter_context(started())
            if self._url is None:
                raise Skipped("it needs PostgreSQL, which is not installed")
        if name not in self._made:
            with psycopg.connect(self._url, autocommit=True) as control:
                control.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            self._made.add(name)
        return urlsplit(self._url)._replace(path=f"/{name}").geturl()

    def query(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        """What a statement finds in a database; nothing for one that finds nothing. Blocking."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """End the server, if it was started."""
        self._stack.close()
