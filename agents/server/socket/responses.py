"""The WebSocket of OpenAI's Responses API: who may open it, how long it stays, and its messages in and out."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import ClassVar

from channels.consumer import AsyncConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from agents.base import metrics, rights, shares
from agents.base.access import Actor, require
from agents.base.api.authentication import actor_of_header, refuse, reidentifier
from agents.base.api.provider_data import HEADER, read_provider_data
from agents.base.errors import AgentsError, InvalidRequest, Unavailable
from agents.base.open_streams import streams
from agents.base.reading import read
from agents.base.schemas.identity import TokenRequest
from agents.base.shares import Slot
from agents.responses.runner.socket import ResponseSocket, over
from agents.responses.wire.socket_stream import error_message
from agents.server.socket.guard import header

LIFETIME_S = 3600.0
"""How long a socket is open; OpenAI's closes after an hour too."""
MAX_MESSAGES_PER_S = 50
"""Of those that begin no work: requests wait for one another, and are as many as their client gets answers to."""
OVER, FORBIDDEN, RESTARTS = 1000, 1008, 1012


class ResponsesConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """``/v1/responses``."""

    _open: ClassVar[set[asyncio.Task[None]]] = set()
    _slot: Slot | None = None
    _watch: asyncio.Task[None] | None = None
    _end: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        self._second, self._received = 0, 0
        authorization = header(self.scope, b"authorization")
        token_request = partial(TokenRequest, self.scope["path"])
        try:
            actor: Actor = await read(actor_of_header, authorization, token_request)
            if actor.is_anonymous:
                raise refuse(actor)
            require(actor, "run")
            provider_data = read_provider_data(header(self.scope, HEADER.lower().encode()))
            self._slot = streams.enter(actor.caller)
        except AgentsError as error:
            await _refuse(self, error.status)
            return
        metrics.reader_came("socket")
        shares.caller.set(actor.caller)
        self._socket = ResponseSocket(actor, provider_data, self._send_all)
        connection = rights.Connection(actor, reidentifier(authorization, token_request))
        await self.accept()
        self._end = asyncio.create_task(self._close_in_time())
        self._watch = asyncio.create_task(self._close_when_ended(connection))
        self._open.add(self._watch)
        self._watch.add_done_callback(self._open.discard)

    async def disconnect(self, code: int) -> None:
        if self._slot is None:
            return
        self._socket.close()
        streams.leave(self._slot)
        metrics.reader_left("socket")
        if self._end is not None:
            self._end.cancel()
        if self._watch is not None:
            self._watch.cancel()

    async def _close_when_ended(self, connection: rights.Connection) -> None:
        """Close the socket when its actor loses its rights, or the server stops."""
        try:
            await connection.wait(asyncio.Event().wait())
        except rights.ConnectionEnded as ended:
            if isinstance(ended.error, Unavailable):
                await self._socket.stop(ended.error)
                await self.close(RESTARTS, "The server stops.")
            else:
                self._socket.close()
                await self.close(FORBIDDEN, "The key is no longer valid.")
        finally:
            connection.close()

    @classmethod
    async def settle(cls, seconds: float) -> None:
        """Wait until the sockets that were told that the server stops have passed it on, at most ``seconds``."""
        if cls._open:
            await asyncio.wait(cls._open, timeout=seconds)

    async def _close_in_time(self) -> None:
        await asyncio.sleep(LIFETIME_S)
        await self._socket.finish()
        await self._send_all([error_message(over())])
        await self.close(OVER)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._received = second, 0
        self._received += 1
        if self._received > MAX_MESSAGES_PER_S:
            self._socket.close()
            await self.close(FORBIDDEN, "Too many messages.")
            return
        try:
            if text_data is None:
                raise InvalidRequest("Messages are JSON as text, not bytes.", code="invalid_event")
            if self._socket.receive(text_data):
                self._received -= 1
        except AgentsError as error:
            await self._send_all([error_message(error)])

    async def _send_all(self, messages: Sequence[bytes]) -> None:
        with contextlib.suppress(RuntimeError):  # the socket closed meanwhile
            await AsyncConsumer.send(self, {"type": "websocket.send", "texts": messages})


class NoSocket(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Where there is no socket."""

    async def connect(self) -> None:
        await _refuse(self, 404)


async def _refuse(consumer: AsyncConsumer, status: int) -> None:
    """Refuse a handshake with a status of HTTP; its reason is a line of headers, where no message of ours belongs."""
    reason = HTTPStatus(status).phrase
    await AsyncConsumer.send(consumer, {"type": "websocket.close", "status": status, "reason": reason})
