"""The server's side of the process that runs the operator's functions (`turnlog.tool_worker`): there their imports find
what the environment has, and ``agents`` is not this package.

The process is started with the server. One that has died is started again by the next call.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import turnlog.tool_worker
from agents.loop.protocols.tools import ToolContext
from turnlog.tool_worker import frames
from turnlog.tool_worker.frames import Frame

PROGRAM = Path(turnlog.tool_worker.__file__).with_name("__main__.py")
LIMIT = 2**20
"""Bytes that are read ahead."""
END_S = 6.0
"""How long the process may take to end once it is told to; it takes at most 5 s where it can do anything at all."""
EXIT_S = 2.0
"""How long a process that has hung up may take to be gone."""
STDERR = 2

Paths = Mapping[str, Sequence[str]]
"""``{group: ["package.module:function"]}``"""


class FunctionError(ValueError):
    """A function that cannot be a tool; the message says which and why."""


@dataclass(frozen=True)
class ProcessEnded(Exception):
    """The process ended during a call. ``code`` is as of `subprocess.Popen.returncode`."""

    code: int

    def __str__(self) -> str:
        way = _way(self.code)
        return f"the process of the tools ended during this call ({way}); it is not known whether it took effect"


def _way(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


class FunctionProcess:
    """One process, from its start to its end."""

    def __init__(self, paths: Paths) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            descriptor = theirs.fileno()
            command = [sys.executable, "-P", str(PROGRAM), str(descriptor)]
            self._process = subprocess.Popen(  # noqa: S603 - our own program, with a number as its argument
                command, pass_fds=[descriptor], stdin=subprocess.DEVNULL, stdout=STDERR, env=_environment()
            )
        self._exit: Future[int] = Future()
        self._numbers = count(1)
        self._calls: dict[int, asyncio.Future[Frame]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        threading.Thread(target=self._watch, name="function process", daemon=True).start()
        self._socket.sendall(b"".join(frames.packed({"functions": {group: [*own] for group, own in paths.items()}})))

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_connected(self) -> bool:
        """Whether calls can be made."""
        return self._writer is not None and not self._writer.is_closing() and not self._exit.done()

    @property
    def is_new(self) -> bool:
        """Whether it waits for its first call."""
        return self._writer is None and not self._exit.done()

    def _watch(self) -> None:
        """In a thread of its own: notice the end of the process, also where one that it has forked holds the socket."""
        self._exit.set_result(self._process.wait())
        with suppress(OSError):  # it is closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def definitions(self) -> list[dict[str, Any]]:
        """What the functions are as tools; blocking. Raises FunctionError."""
        try:
            return _definitions(frames.receive(self._socket)[0])
        except FunctionError:
            self._socket.close()
            raise
        except (EOFError, ConnectionError):
            error = self._start_error()
            self._socket.close()
            raise error from None

    async def connect(self) -> None:
        """Make it ready for calls, once its definitions were received."""
        await self._open()
        self._begin()

    async def reconnect(self) -> None:
        """Make one that was started instead of another ready for calls. Raises FunctionError."""
        reader = await self._open()
        try:
            _definitions((await frames.read(reader))[0])
        except (EOFError, ConnectionError):
            await self._exit_code()
            raise self._start_error() from None
        self._begin()

    async def _open(self) -> asyncio.StreamReader:
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._socket, limit=LIMIT)
        return self._reader

    def _begin(self) -> None:
        # without the context of the call that happens to be the first
        self._reading = asyncio.get_running_loop().create_task(self._read(self._reader), context=Context())

    def _start_error(self) -> FunctionError:
        return FunctionError(f"the process of the functions ended at its start ({_way(self._exit.result())})")

    async def call(self, tool: int, arguments: dict[str, Any], context: ToolContext) -> Frame:
        """Call the function at this place in the definitions. Raises ProcessEnded."""
        assert self._writer is not None  # it is connected
        number = next(self._numbers)
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._calls[number] = answer
        try:
            self._send({"call": number, "tool": tool, "arguments": arguments, "context": _context(context)})
            with suppress(ConnectionError):  # the answer is then that the process has ended
                await self._writer.drain()
            return await answer
        except asyncio.CancelledError:
            self._send({"cancel": number})
            raise
        finally:
            self._calls.pop(number, None)

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            for piece in frames.packed(message):
                self._writer.write(piece)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Hand out answers until the process ends."""
        assert self._writer is not None  # it is connected
        try:
            while True:
                frame = await frames.read(reader)
                answer = self._calls.get(frame[0]["call"])
                if answer is not None and not answer.done():
                    answer.set_result(frame)
        except (EOFError, ConnectionError):
            self._writer.close()  # no further call
        code = await self._exit_code()
        for answer in self._calls.values():
            if not answer.done():
                answer.set_exception(ProcessEnded(code))

    async def _exit_code(self, within_s: float = EXIT_S) -> int:
        """Wait until the process has ended, and kill it when it takes too long."""
        exit_code = asyncio.wrap_future(self._exit)
        await asyncio.wait({exit_code}, timeout=within_s)
        if not exit_code.done():
            self._process.kill()
        return await exit_code

    async def close(self) -> None:
        """End the process."""
        if self._writer is None:
            self._socket.close()
        else:
            self._writer.close()
        await self._exit_code(END_S)
        if self._reading is not None:
            await asyncio.wait({self._reading})


class FunctionWorker:
    """The process of the functions that a server has at the moment. ``definitions`` are those of its first one."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._process = FunctionProcess(paths)
        self._starting: asyncio.Task[FunctionProcess] | None = None
        self._is_closed = False
        self.definitions = self._process.definitions()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(self, tool: int, arguments: dict[str, Any], context: ToolContext) -> Frame:
        """Call a function. Raises ProcessEnded, and FunctionError where the process cannot be started again."""
        process = self._process if self._process.is_connected else await self._started()
        return await process.call(tool, arguments, context)

    async def _started(self) -> FunctionProcess:
        """A process that is ready for calls; all that ask at the same time wait for the same one."""
        if self._is_closed:
            raise FunctionError("the server stops")
        if self._starting is None or self._starting.done():
            self._starting = asyncio.get_running_loop().create_task(self._start(), context=Context())
        return await asyncio.shield(self._starting)

    async def _start(self) -> FunctionProcess:
        if self._process.is_new:
            await self._process.connect()
        else:
            self._process = FunctionProcess(self._paths)
            await self._process.reconnect()
        return self._process

    async def close(self) -> None:
        """End the process, and start no other."""
        self._is_closed = True
        await self._process.close()


def _definitions(message: dict[str, Any]) -> list[dict[str, Any]]:
    if "error" in message:
        raise FunctionError(message["error"])
    tools: list[dict[str, Any]] = message["tools"]
    return tools


def _context(context: ToolContext) -> dict[str, Any]:
    return {
        "session_id": context.session_id,
        "turn_id": context.turn_id,
        "actor": context.actor,
        "provider_data": dict(context.provider_data),
        "call_key": context.call_key,
    }


def _environment() -> dict[str, str]:
    """The server's, but for its own settings module: a function may use Django for something of its own."""
    own = ("DJANGO_SETTINGS_MODULE", "agentsite.settings")
    return {name: value for name, value in os.environ.items() if (name, value) != own}
