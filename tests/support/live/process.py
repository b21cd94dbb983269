"""A server process as users run it: ``manage.py serve`` on a free port and data of its own.

Its environment holds nothing of the caller's but where programs and temporary files are, so that no
setting leads to somebody's data. Knows nothing of what is asked of the server.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from tests import ROOT, kept

T = TypeVar("T")

_SHELL = """
import contextlib, io, json, sys, traceback
import django
django.setup()
from django.db import connections
for line in sys.stdin:
    printed, failed = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            exec(json.loads(line), {})
    except Exception:
        failed = traceback.format_exc()
    connections.close_all()
    print(json.dumps([printed.getvalue(), failed]), flush=True)
"""
"""Runs one program after the other with Django, each of a line of JSON."""

KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
START_S, STOP_S, LOOK_S = 120.0, 120.0, 0.02
_PORT = re.compile(r"^(?:Logs|Address) +http://[^/]+:(\d+)(?:/logs/)?$", re.MULTILINE)

_MISTAKE = re.compile(r"^Traceback| ERROR agents| CRITICAL ", re.MULTILINE)


def eventually(look: Callable[[], T | Literal[False] | None], within_s: float = 30.0, every_s: float = LOOK_S) -> T:
    """What ``look`` returns as soon as it is true. Raises AssertionError when it never is."""
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"not so within {within_s:g} s; last: {found!r}"
        time.sleep(every_s)  # what is looked at is another process's, which tells nobody when it changes


class ServerProcess:
    """One server and its data. It can be stopped or killed, and started again on the same data."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None, *, demo: bool = False) -> None:
        self.folder = folder
        self._options = [] if demo else ["--no-demo"]
        self._log = folder / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._shell: subprocess.Popen[str] | None = None
        self._environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        self._environment |= environment or {}
        self._environment["DATA_DIR"] = str(folder / "data")
        self.port = 0
        self.forgiven = 0

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/live"

    @property
    def runs(self) -> bool:
        return self._process is not None

    @property
    def pid(self) -> int:
        assert self._process is not None  # it was started
        return self._process.pid

    @property
    def environment(self) -> dict[str, str]:
        """What it is started with."""
        return dict(self._environment)

    def use(self, **environment: str) -> None:
        """Start it with these settings too, from the next time on."""
        self._environment |= environment

    @property
    def database_url(self) -> str:
        """Where its database is; empty for a file of its own."""
        return self._environment.get("DATABASE_URL", "")

    @property
    def log(self) -> str:
        """All it wrote, over all its lives."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def forgive(self) -> None:
        """The mistakes it has logged so far were made on purpose."""
        self.forgiven = len(self.log)

    def manage(self, *command: str) -> str:
        """The output of a management command on the same data. Raises CalledProcessError."""
        line = [sys.executable, "manage.py", *command]
        done = subprocess.run(line, cwd=ROOT, env=self._environment, check=True, capture_output=True, text=True)
        return done.stdout

    def shell(self, program: str) -> str:
        """What a program with Django prints that works on the same data, in a process beside the server's. That
        is kept: to start it takes longer than most of what is done in it."""
        if self._shell is None:
            environment = {**self._environment, "DJANGO_SETTINGS_MODULE": "agentsite.settings"}
            line, pipe = [sys.executable, "-c", _SHELL], subprocess.PIPE
            self._shell = subprocess.Popen(line, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)
        assert self._shell.stdin is not None and self._shell.stdout is not None  # noqa: PT018 - pipes both
        self._shell.stdin.write(f"{json.dumps(program)}\n")
        self._shell.stdin.flush()
        answer = self._shell.stdout.readline()
        assert answer, "the shell has ended"
        printed, failed = json.loads(answer)
        assert not failed, failed
        return str(printed)

    def close_shell(self) -> None:
        if self._shell is not None:
            self._shell.communicate()
            self._shell = None

    def start(self, port: int = 0) -> ServerProcess:
        """Start it and wait until it takes turns."""
        written = len(self.log)
        command = [sys.executable, "manage.py", "serve", "--port", str(port), *self._options]
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.port = int(eventually(lambda: self._said(written), START_S)[1])
        eventually(self.is_ready, START_S)
        return self

    def _said(self, written: int) -> re.Match[str] | None:
        assert self._process is not None  # just started
        assert self._process.poll() is None, f"it ended with {self._process.returncode}: {self.log[written:]}"
        return _PORT.search(self.log, written)

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def terminate(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask it to end."""
        assert self._process is not None  # it was started
        self._process.send_signal(how)

    def wait(self, within_s: float = STOP_S) -> int:
        """Its exit code, once it has ended."""
        assert self._process is not None  # it was started
        code = self._process.wait(within_s)
        self._process = None
        return code

    def stop(self) -> None:
        """End it as an operator does; it must end well."""
        self.terminate()
        code = self.wait()
        assert code == 0, f"it ended with {code}: {self.log[-2000:]}"

    def kill(self) -> None:
        """End it as a power cut does. Nothing happens when it runs no more."""
        if self._process is not None:
            self._process.kill()
            self.wait()


@contextmanager
def database(*, empty: bool = True) -> Iterator[dict[str, str]]:
    """What a server's environment says of its database: nothing for SQLite, else the URL of a new
    database on the server that TEST_DATABASE_URL names, for as long as the block lasts; with its tables
    already if it is not to be empty."""
    url = os.environ.get("TEST_DATABASE_URL", "")
    if not url:
        yield {}
        return
    name = f"agents_{secrets.token_hex(6)}"
    template = "template1" if empty else kept.postgresql_template(url)
    with psycopg.connect(url, autocommit=True) as control:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        control.execute(made.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield {"DATABASE_URL": urlsplit(url)._replace(path=f"/{name}").geturl()}
        finally:
            control.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def running(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    demo: bool = False,
    data: Path | None = None,
    own_database: bool = True,
) -> Iterator[ServerProcess]:
    """A started server with a database of its own, unless its environment names one, and with the demo in its log if
    so asked. It starts with a copy of ``data``, see `first_data`, or with nothing. What still runs when the block ends
    well is stopped, and must not have logged a mistake."""
    if data is not None:
        shutil.copytree(data, folder / "data")
    nothing: AbstractContextManager[dict[str, str]] = nullcontext({})
    with database(empty=data is None) if own_database else nothing as where:
        server = ServerProcess(folder, {**where, **(environment or {})}, demo=demo)
        try:
            server.start()
            yield server
            if server.runs:
                server.stop()
            assert not _MISTAKE.search(server.log, server.forgiven), server.log[-4000:]
        finally:
            server.close_shell()
            with suppress(ProcessLookupError):
                server.kill()


def first_data() -> Path:
    """What a server's first start leaves in its data folder: tables without rows, static files. Kept: it takes
    longer than all else a start does."""
    return kept.kept(f"first-data-on-{'postgresql' if os.environ.get('TEST_DATABASE_URL') else 'sqlite'}", _first_data)


def _first_data(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        with running(own):
            pass
        shutil.copytree(own / "data", path)
