"""A proxy in front of several servers: each connection, or each request, goes to one of those that are ready, picked
at random."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from tests.support.live.process import ServerProcess, database, running

LOOK_S, TRIES = 0.1, 100


class Proxy:
    """Passes bytes on. ``port`` is where it listens. With ``by_request`` a server is told that no further request will
    come on a connection, so that the next one, on another, may go elsewhere."""

    def __init__(self, servers: Sequence[ServerProcess], choose: random.Random, *, by_request: bool = False) -> None:
        self.servers, self.port = servers, 0
        self._choose, self._by_request = choose, by_request
        self._ready: list[int] = [server.port for server in servers]

    async def serve(self, started: threading.Event, ends: threading.Event) -> None:
        listening = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = listening.sockets[0].getsockname()[1]
        started.set()
        async with listening:
            while not ends.is_set():
                ports = [server.port for server in self.servers]
                found = await asyncio.gather(*map(self._is_ready, ports))
                self._ready = [port for port, is_ready in zip(ports, found, strict=True) if is_ready]
                await asyncio.sleep(LOOK_S)

    async def _is_ready(self, port: int) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(writer):
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                line = await asyncio.wait_for(reader.readline(), 5)
        except (OSError, TimeoutError):
            return False
        return b" 200 " in line

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            there = await self._open()
            if there is None:
                return
            with closing(there[1]):
                if self._by_request:
                    there[1].write(await _closing_head(reader))
                await asyncio.gather(_passed_on(reader, there[1]), _passed_on(there[0], writer))

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to one of the servers; None where none of them takes one."""
        for _ in range(TRIES):
            if self._ready:
                with contextlib.suppress(OSError):
                    return await asyncio.open_connection("127.0.0.1", self._choose.choice(self._ready))
            await asyncio.sleep(LOOK_S)
        return None


async def _closing_head(reader: asyncio.StreamReader) -> bytes:
    """The head of a request, which says now that the connection ends with it; one to a socket as it is."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError:
        return b""  # too long to be changed; what has been read stays in the reader
    lines = head.split(b"\r\n")
    if any(line.lower().startswith(b"upgrade:") for line in lines):
        return head
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([kept[0], b"Connection: close", *kept[1:]])


async def _passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.close()


@contextmanager
def running_behind_proxy(
    folder: Path, environment: Mapping[str, str] | None = None, *, count: int, data: Path
) -> Iterator[ServerProcess]:
    """This many started servers on one database; ``data`` as for `running`. Returns the first of them, whose port is
    the proxy's: what is asked of it goes to any. None may have logged a mistake at the end."""
    with ExitStack() as stack:
        where = {**stack.enter_context(database(empty=False)), **(environment or {})}
        servers = [
            stack.enter_context(running(folder / f"server-{number}", where, data=data, own_database=False))
            for number in range(count)
        ]
        own_port = servers[0].port
        with proxied(servers, random.Random(20261125), by_request=True) as proxy:
            servers[0].port = proxy.port
            yield servers[0]
            servers[0].port = own_port


@contextmanager
def proxied(servers: Sequence[ServerProcess], choose: random.Random, *, by_request: bool = False) -> Iterator[Proxy]:
    """A proxy in front of these servers, in a thread of its own."""
    proxy, started, ends = Proxy(servers, choose, by_request=by_request), threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(proxy.serve(started, ends)), name="proxy", daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield proxy
    finally:
        ends.set()
        thread.join(10)
