"""Messages between processes by PostgreSQL's LISTEN and NOTIFY.

Two connections of its own, besides those of the threads: one listens, one sends. What waits is sent together, in
one short transaction that writes nothing: PostgreSQL lets transactions that notify commit one after the other, so
none that does other work should be one of them.

Whether messages get through is measured, not assumed: the process sends an echo to itself through the database. A
pooler between them that hands out connections per transaction lets one listen, and delivers nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

from agents.base.messaging.channel import EVERYONE, MAX_BODY_BYTES, MAX_NAME_CHARS, MessageChannel
from agents.base.messaging.notifications import Message, NotificationReceiver, NotificationSender

log = logging.getLogger(__name__)

MAX_WAITING = 10_000
"""Messages that wait to be sent; beyond it the oldest are dropped."""
ECHO_S, ECHO_LIMIT_S = 1.0, 3.0
"""How often the process sends an echo to itself, and how old the last one is when messages count as lost."""
SILENCE_S = 8.0
"""When no echo has come for this long, both connections are opened again."""
MIN_PAUSE_S, MAX_PAUSE_S = 0.1, 10.0
"""How long it waits before it connects again: the first time, and at most."""

_ECHO = "echo"
_PREFIX = "agents:"


class PostgresMessageChannel(MessageChannel):
    """The channel of a process whose database is PostgreSQL. ``connect_with`` are the parameters of a connection, as
    psycopg takes them."""

    def __init__(self, process: str, connect_with: Mapping[str, Any]) -> None:
        self._renamed = asyncio.Event()
        super().__init__(process)
        self._connect_with = dict(connect_with)
        self._waiting: deque[Message] = deque(maxlen=MAX_WAITING)
        self._sender: NotificationSender | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._task: asyncio.Task[None] | None = None
        self._echoed_at = float("-inf")
        self.last_error: str | None = None
        """Why messages do not get through; None while they do, and before that is known."""

    def rename(self, process: str) -> None:
        super().rename(process)
        self._renamed.set()

    @property
    def is_working(self) -> bool:
        return self._sender is not None and time.monotonic() - self._echoed_at < ECHO_LIMIT_S

    @property
    def has_failed(self) -> bool:
        return self.last_error is not None

    def send(self, topic: str, body: str, to: str = EVERYONE) -> None:
        data = body.encode(errors="surrogatepass")
        if len(data) > MAX_BODY_BYTES:
            raise ValueError(f"a message has at most {MAX_BODY_BYTES} bytes")
        if len(topic) > MAX_NAME_CHARS or "\n" in topic:
            raise ValueError("a topic's name has at most 32 characters, all on one line")
        if self._loop is None or self._sender is None:
            return
        if b"\0" in data:
            log.warning("topic=%s: a message with a zero character cannot be sent", topic)
            return
        message = (_PREFIX + to).encode(), f"{self.process}\n{topic}\n".encode() + data
        if threading.get_ident() == self._loop_thread:
            self._add(message)
        else:
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(self._add, message)

    def _add(self, message: Message) -> None:
        if self._sender is not None:
            self._waiting.append(message)
            self._sender.wake()

    async def start(self) -> None:
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        self._task = asyncio.create_task(self._stay_connected())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    # ---------------------------------------------------------------------------------- connections

    async def _stay_connected(self) -> None:
        pause_s = MIN_PAUSE_S
        while True:
            began = time.monotonic()
            try:
                await self._connected()
            except (OSError, psycopg.Error, UnicodeError) as error:
                self._note_failure(error)
            if time.monotonic() - began > 2 * SILENCE_S:
                pause_s = MIN_PAUSE_S
            await asyncio.sleep(pause_s * random.uniform(0.5, 1))  # noqa: S311 - so that they do not come at once
            pause_s = min(2 * pause_s, MAX_PAUSE_S)

    def _note_failure(self, error: BaseException) -> None:
        message = str(error).strip() or type(error).__name__
        if self.last_error is None:  # not at every try
            log.warning("messages between processes do not get through: %s", message)
        self.last_error = message

    async def _connected(self) -> None:
        """Send and receive until a connection fails, or the process has another name. Raises OSError, psycopg.Error."""
        self._renamed.clear()
        async with self._connection() as receiving, self._connection() as sending:
            for name in (EVERYONE, self.process):
                await receiving.execute(sql.SQL("LISTEN {}").format(sql.Identifier(_PREFIX + name)))
            self._waiting.clear()
            ended = asyncio.get_running_loop().create_future()
            with (
                NotificationReceiver(receiving.pgconn, ended, self._take),
                NotificationSender(sending.pgconn, ended, self._waiting) as self._sender,
            ):
                works = ended, asyncio.create_task(self._echo()), asyncio.create_task(self._renamed.wait())
                try:
                    await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    self._sender = None
                    for work in works:
                        work.cancel()
                    results = await asyncio.gather(*works, return_exceptions=True)
            for result in results:
                if isinstance(result, Exception):
                    raise result

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        parameters = {"client_encoding": "UTF8", **self._connect_with, "autocommit": True}
        connection = await AsyncConnection.connect(**parameters)
        try:
            yield connection
        finally:
            await connection.close()

    def _take(self, payload: bytes) -> None:
        match payload.decode().split("\n", 2):
            case [self.process, topic, _]:
                if topic == _ECHO:
                    self._note_echo()
            case [sender, topic, body]:
                self._hand_over(sender, topic, body)
            case _:
                log.warning("a message that no process of this program has sent")

    def _note_echo(self) -> None:
        if self.last_error is not None:
            log.info("messages between processes get through again")
        self._echoed_at, self.last_error = time.monotonic(), None

    async def _echo(self) -> None:
        connected_at = time.monotonic()
        while True:
            self.send(_ECHO, "", self.process)
            await asyncio.sleep(ECHO_S)
            if time.monotonic() - max(self._echoed_at, connected_at) > SILENCE_S:
                raise ConnectionError("the database takes messages and delivers none")
