"""The server under test when it is our own: ``manage.py serve`` on a free port and an empty store."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bench.children import LOOK_S, Child
from bench.faults import Broken
from bench.postgresql import Databases

KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
"""All a server takes from the caller's environment: no DATABASE_URL may lead to somebody's data."""
READY_S = 60.0
STOP_S = 60.0
LOG = "serve.log"
SECRET = "of all servers of a database " * 2
_WELCOME = r"http://[^ /]+:(\d+)/logs/"


@dataclass(frozen=True, slots=True)
class Server:
    """One that answers. ``start_s`` is the time from its process's start to its first healthy reply."""

    base: str
    start_s: float
    child: Child

    @property
    def pid(self) -> int:
        return self.child.pid


@dataclass(frozen=True, slots=True)
class Store:
    """Where a server keeps its data: by the ``name`` of the store and its engine. ``number`` tells the processes of
    one store from each other."""

    name: str
    on_postgresql: bool
    number: int = 0

    @property
    def folder(self) -> str:
        return f"{self.name}-{self.number}" if self.number else self.name


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts servers that ask the model endpoint at ``model_base``, all on one core; on PostgreSQL if so asked."""

    folder: Path
    http: aiohttp.ClientSession
    model_base: str
    core: int | None = None
    on_postgresql: bool = False
    databases: Databases = field(default_factory=Databases)

    @asynccontextmanager
    async def run(self, name: str, *, demo: bool = False) -> AsyncIterator[Server]:
        """A server for as long as the block lasts. Runs of one ``name`` share their data."""
        async with self.serve(Store(name, self.on_postgresql), demo=demo) as server:
            yield server

    @asynccontextmanager
    async def several(self, name: str, count: int) -> AsyncIterator[list[Server]]:
        """So many processes on one PostgreSQL database."""
        async with AsyncExitStack() as stack:
            stores = [Store(name, True, number) for number in range(count)]
            yield [await stack.enter_async_context(self.serve(store)) for store in stores]

    @asynccontextmanager
    async def serve(
        self, store: Store, *, demo: bool = False, settings: Mapping[str, str] | None = None
    ) -> AsyncIterator[Server]:
        """A server on this store, with these settings, for as long as the block lasts."""
        data = self.folder / store.folder
        data.mkdir(exist_ok=True)
        command = [sys.executable, "manage.py", "serve", "--port", "0", *([] if demo else ["--no-demo"])]
        env = await asyncio.to_thread(self._environment, store) | dict(settings or {})
        child = Child(command, data / LOG, env=env, core=self.core)
        try:
            base = f"http://127.0.0.1:{await child.says(_WELCOME, READY_S)}"
            await self._ready(base)
            yield Server(base, time.monotonic() - child.began, child)
        finally:
            await child.stop(STOP_S)

    async def manage(self, name: str, *arguments: str) -> str:
        """What a command of `manage.py` prints that works on the same data. Raises Broken."""
        return await self._manage(self._environment(Store(name, self.on_postgresql)), *arguments)

    async def copy_to_postgresql(self, name: str) -> None:
        """Copy the SQLite file of a store to its database where servers are on PostgreSQL. Raises Broken."""
        if self.on_postgresql:
            url = await asyncio.to_thread(self.databases.url, name)
            await self._manage(self._environment(Store(name, on_postgresql=False)), "copy_to_postgres", url)
            await asyncio.to_thread(self.databases.query, name, "ANALYZE")

    async def _manage(self, env: dict[str, str], *arguments: str) -> str:
        command = (sys.executable, "manage.py", *arguments)
        process = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        if process.returncode:
            raise Broken(f"manage.py {arguments[0]}: {err.decode(errors='replace')[-400:]}")
        return out.decode()

    def query(self, name: str, statement: str) -> list[tuple[Any, ...]]:
        """What a statement finds in a store. Blocking."""
        if self.on_postgresql:
            return self.databases.query(name, statement)
        [path] = (self.folder / name).glob("*.sqlite3")
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
            return database.execute(statement).fetchall()

    def said(self, name: str) -> str:
        """The end of what a server wrote to its log."""
        return (self.folder / name / LOG).read_text(errors="replace").strip()[-2000:]

    def _environment(self, store: Store) -> dict[str, str]:
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        env |= {"DATA_DIR": str(self.folder / store.folder), "OPENAI_API_KEY": "none"}
        env |= {"OPENAI_BASE_URL": f"{self.model_base}/v1"}
        if store.on_postgresql:
            own = self.folder / store.name / "secret"  # of a store that was copied
            env |= {"DATABASE_URL": self.databases.url(store.name)}
            env |= {"SECRET_KEY": own.read_text().strip() if own.exists() else SECRET}
        return env

    async def _ready(self, base: str) -> None:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            async with self.http.get(f"{base}/readyz") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(LOOK_S)
        raise Broken(f"{base}/readyz was not healthy within {READY_S:g} s")
