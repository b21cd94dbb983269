"""Starts what is measured and what measures: the endpoint, the client, our server or another one, or both."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path

import aiohttp

from bench.children import LOOK_S, Child, on_core
from bench.client import Api
from bench.faults import Broken
from bench.processes import pin
from bench.server import KEPT, Launcher
from bench.stage import Endpoint, Stage

MAIN = "main"
READY_S = 180.0
"""How long another server may take to start."""


@asynccontextmanager
async def staged(options: argparse.Namespace, folder: Path) -> AsyncIterator[list[Stage]]:
    """A stage for each server that the options name, ours first, for as long as the block lasts."""
    async with AsyncExitStack() as stack:
        core = stack.enter_context(_cores()) if options.pin else None
        endpoint = await stack.enter_async_context(_endpoint(folder, options.endpoint_port))
        stages = []
        if options.beside or not options.base:
            stages.append(await stack.enter_async_context(_ours(options, endpoint, folder, core)))
        if options.base:
            stages.append(await stack.enter_async_context(_theirs(options, endpoint, folder, core)))
        yield stages


@asynccontextmanager
async def _ours(
    options: argparse.Namespace, endpoint: Endpoint, folder: Path, core: int | None
) -> AsyncIterator[Stage]:
    async with _client() as http:
        launcher = Launcher(folder, http, endpoint.base, core, options.postgresql)
        with closing(launcher.databases):
            async with launcher.run(MAIN) as server:
                quick = options.quick or options.beside
                yield Stage(Api(http, server.base), endpoint, server.pid, launcher, quick, options.minutes, core)


@asynccontextmanager
async def _theirs(
    options: argparse.Namespace, endpoint: Endpoint, folder: Path, core: int | None
) -> AsyncIterator[Stage]:
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(_client(headers))
        pid = options.server_pid
        if options.start:
            pid = await stack.enter_async_context(_started(options, endpoint, folder, core, http))
        elif pid and core is not None:
            pin(pid, core)
        before = {"prefix": options.prefix, "responses_prefix": options.responses_prefix}
        api = Api(http, options.base, model_prefix=options.model_prefix, **before)
        yield Stage(api, endpoint, pid, None, options.quick or options.beside, options.minutes, core)


@asynccontextmanager
async def _started(
    options: argparse.Namespace, endpoint: Endpoint, folder: Path, core: int | None, http: aiohttp.ClientSession
) -> AsyncIterator[int]:
    """The process of another server, once it answers."""
    data = folder / "theirs"
    data.mkdir()
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env |= {"STORE": str(data), "ENDPOINT_PORT": endpoint.base.rpartition(":")[2]}
    child = Child(shlex.split(options.start), folder / "theirs.log", env=env, core=core)
    try:
        await _answers(options.base, child, http)
        yield child.pid
    finally:
        child.kill()  # how it would have ended is not what is measured, and its data goes with the folder


async def _answers(base: str, child: Child, http: aiohttp.ClientSession) -> None:
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            async with http.get(base):
                return
        except aiohttp.ClientConnectionError:
            await asyncio.sleep(LOOK_S)
    raise Broken(f"{base} does not answer within {READY_S:g} s: {child.tail()}")


@asynccontextmanager
async def _endpoint(folder: Path, port: int) -> AsyncIterator[Endpoint]:
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    command = [sys.executable, "-m", "bench.endpoint", "--port", str(port)]
    child = Child(command, folder / "endpoint.log", env=env)
    try:
        yield Endpoint(await child.says(r"model endpoint (http://[^/]+)/v1", within_s=20), child.pid)
    finally:
        await child.stop()


def _client(headers: Mapping[str, str] | None = None) -> aiohttp.ClientSession:
    timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
    return aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0), headers=headers)


@contextmanager
def _cores() -> Iterator[int]:
    """The servers' core; client and endpoint are on another one meanwhile."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("bench: --pin needs two cores")
    with on_core(cores[1]):
        yield cores[0]
