"""A connection that sends PostgreSQL's notifications and one that receives them, driven by callbacks of the event loop.

A message is one call of the driver's library, and its answer one callback. psycopg's coroutines take four times as
much of the processor for it, and a process whose turns others watch sends fifty messages a second.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Self

import psycopg
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGconn

log = logging.getLogger(__name__)

MAX_TOGETHER = 256
"""Messages of one transaction."""

Message = tuple[bytes, bytes]
"""A channel and what is said on it, neither with a zero byte."""


@cache
def _statement(count: int) -> bytes:
    """Return the statement that sends so many messages. Nothing is written, so nothing can be lost in a power cut. That
    holds for this one transaction and not for the session, which a pooler hands on to others."""
    sent = (f", pg_notify(${2 * number + 1}, ${2 * number + 2})" for number in range(count))
    return b"SELECT set_config('synchronous_commit', 'off', true)" + "".join(sent).encode()


class _Driven(ABC):
    """A connection whose input is taken when it comes, within its ``with``. The psycopg.Error that ends it before is
    the exception of ``ended``."""

    def __init__(self, pgconn: PGconn, ended: asyncio.Future[None]) -> None:
        self._pgconn, self._ended = pgconn, ended
        self._loop, self._socket = asyncio.get_running_loop(), pgconn.socket
        self._is_open = False

    def __enter__(self) -> Self:
        self._is_open = True
        self._loop.add_reader(self._socket, self._run, self._read)
        self._loop.call_soon(self._run, self._read)  # what came with an answer before
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)

    def _run(self, work: Callable[[], None]) -> None:
        if not self._is_open:
            return
        try:
            work()
        except psycopg.Error as error:
            self._close()
            if not self._ended.done():
                self._ended.set_exception(error)

    def _read(self) -> None:
        self._pgconn.consume_input()
        self._take_input()

    @abstractmethod
    def _take_input(self) -> None:
        """Take what has been read."""


class NotificationReceiver(_Driven):
    """Calls ``take`` with what is said on the channels to which the connection listens."""

    def __init__(self, pgconn: PGconn, ended: asyncio.Future[None], take: Callable[[bytes], None]) -> None:
        super().__init__(pgconn, ended)
        self._take = take

    def _take_input(self) -> None:
        while (notification := self._pgconn.notifies()) is not None:
            self._take(notification.extra)


class NotificationSender(_Driven):
    """Sends what is in ``waiting``, all of it together, one transaction after the other. What the server refuses is
    lost; a warning says so."""

    def __init__(self, pgconn: PGconn, ended: asyncio.Future[None], waiting: deque[Message]) -> None:
        super().__init__(pgconn, ended)
        self._waiting = waiting
        self._is_sending = False

    def wake(self) -> None:
        """Send what waits, as soon as the event loop comes to it."""
        if not self._is_sending:
            self._is_sending = True
            self._loop.call_soon(self._run, self._send)

    def _send(self) -> None:
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_TOGETHER))]
        self._is_sending = bool(batch)
        if batch:
            self._pgconn.send_query_params(_statement(len(batch)), [part for message in batch for part in message])
            self._flush()

    def _flush(self) -> None:
        if self._pgconn.flush():
            self._loop.add_writer(self._socket, self._run, self._flush)
        else:
            self._loop.remove_writer(self._socket)

    def _take_input(self) -> None:
        while self._is_sending and not self._pgconn.is_busy():
            result = self._pgconn.get_result()
            if result is None:
                self._send()
            elif result.status != ExecStatus.TUPLES_OK:
                if self._pgconn.status != ConnStatus.OK:
                    raise psycopg.OperationalError(self._pgconn.get_error_message())
                log.warning("messages could not be sent: %s", result.get_error_message())
