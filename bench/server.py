"""The server under test when it is our own: ``manage.py serve`` on a free port and an empty store."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from bench.children import LOOK_S, Child
from bench.faults import Broken

KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
"""All a server takes from the caller's environment: no DATABASE_URL may lead to somebody's data."""
READY_S = 60.0
LOG = "serve.log"
_WELCOME = r"http://[^ /]+:(\d+)/logs/"


@dataclass(frozen=True, slots=True)
class Server:
    """One that answers. ``start_s`` is the time from its process's start to its first healthy reply."""

    base: str
    pid: int
    start_s: float


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts servers that ask the model endpoint at ``model_base``, all on one core."""

    folder: Path
    http: aiohttp.ClientSession
    model_base: str
    core: int | None = None

    @asynccontextmanager
    async def run(self, name: str, *, demo: bool = False) -> AsyncIterator[Server]:
        """A server for as long as the block lasts. Runs of one ``name`` share their data."""
        data = self.folder / name
        data.mkdir(exist_ok=True)
        command = [sys.executable, "manage.py", "serve", "--port", "0", *([] if demo else ["--no-demo"])]
        child = Child(command, data / LOG, env=self._environment(data), core=self.core)
        try:
            base = f"http://127.0.0.1:{await child.says(_WELCOME, READY_S)}"
            await self._ready(base)
            yield Server(base, child.pid, time.monotonic() - child.began)
        finally:
            await child.stop()

    async def manage(self, name: str, *arguments: str) -> str:
        """What a command of `manage.py` prints that works on the same data. Raises Broken."""
        data = self.folder / name
        env = self._environment(data)
        command = (sys.executable, "manage.py", *arguments)
        process = await asyncio.create_subprocess_exec(*command, env=env, stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        if process.returncode:
            raise Broken(f"manage.py {arguments[0]}: {err.decode(errors='replace')[-400:]}")
        return out.decode()

    def said(self, name: str) -> str:
        """The end of what a server wrote to its log."""
        return (self.folder / name / LOG).read_text(errors="replace").strip()[-2000:]

    def _environment(self, data: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {"DATA_DIR": str(data), "OPENAI_BASE_URL": f"{self.model_base}/v1", "OPENAI_API_KEY": "none"}

    async def _ready(self, base: str) -> None:
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            async with self.http.get(f"{base}/readyz") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(LOOK_S)
        raise Broken(f"{base}/readyz was not healthy within {READY_S:g} s")
