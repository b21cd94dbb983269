"""The WebSocket consumer: holds a socket's subscriptions, each a task that follows a topic.

Frames are JSON. A client says ``subscribe`` and ``unsubscribe``; the server answers ``replay``,
``live``, ``events``, ``gap``, ``end``, ``error``, each with the subscription's id. There is no
queue per socket: each subscription has a cursor, and the events since are sent together
at the next tick, so a slow socket gets larger messages and nothing is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from functools import partial
from typing import Any, ClassVar
from weakref import WeakSet

import msgspec
from channels.generic.websocket import AsyncWebsocketConsumer

from agents.base import metrics, rights, shares
from agents.base.access import Actor
from agents.base.api.authentication import reidentifier
from agents.base.errors import AgentsError, InvalidRequest, RateLimited
from agents.base.open_streams import streams
from agents.base.reading import read
from agents.base.schemas.identity import TokenRequest
from agents.base.shares import Slot
from agents.base.store import failures
from agents.server.socket.guard import actor_of, header, language_of
from agents.server.socket.topics import Subscription, follow

log = logging.getLogger(__name__)

MAX_SUBSCRIPTIONS = 32
MAX_MESSAGES_PER_S = 20

UNAUTHENTICATED, TOO_MANY, FLOOD = 4401, 4429, 4008


class Subscribe(msgspec.Struct, forbid_unknown_fields=False):
    """A client's message. ``as`` is ``json`` or ``html``; ``after`` a cursor or null; ``shown`` the
    ids of the rows on the client's page."""

    op: str
    id: int = 0
    topic: str = ""
    level: str = "turns"
    q: str = ""
    after: str | None = None
    form: str = msgspec.field(default="json", name="as")
    shown: list[str] = []


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """``/ws/live``."""

    _turn_tasks: ClassVar[WeakSet[asyncio.Task[None]]] = WeakSet()
    _slot: Slot | None = None
    _access_watch: rights.AccessWatch | None = None

    async def connect(self) -> None:
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._second, self._received = 0, 0
        self.language = language_of(self.scope)
        self.actor: Actor = await read(actor_of, self.scope)
        await self.accept()
        if self.actor.is_anonymous or "read" not in self.actor.actions:
            await self.close(UNAUTHENTICATED)
            return
        try:
            self._slot = streams.enter(self.actor.caller)
            metrics.reader_came("socket")
            shares.caller.set(self.actor.caller)
        except RateLimited as error:
            await self.close(TOO_MANY, error.message)
            return
        reidentify = reidentifier(header(self.scope, b"authorization"), partial(TokenRequest, self.scope["path"]))
        self._access_watch = rights.watch(self.actor, self._close_unauthenticated, reidentify=reidentify)

    async def disconnect(self, code: int) -> None:
        for task in self._tasks.values():
            task.cancel()
        if self._slot is not None:
            streams.leave(self._slot)
            metrics.reader_left("socket")
        if self._access_watch is not None:
            rights.unwatch(self._access_watch)

    def _close_unauthenticated(self) -> None:
        """Close the socket when its actor loses the right to read."""
        self._closing = asyncio.create_task(self.close(UNAUTHENTICATED))

    # ----------------------------------------------------------------------------------- receiving

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._is_flooding():
            await self.close(FLOOD)
            return
        message_id = 0
        try:
            message = _parse(text_data if text_data is not None else bytes_data or b"")
            message_id = message.id
            self._handle(message)
        except AgentsError as error:
            await self.send_message(message_id, "error", error=error.body()["error"])

    def _is_flooding(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._received = second, 0
        self._received += 1
        return self._received > MAX_MESSAGES_PER_S

    def _handle(self, message: Subscribe) -> None:
        running = self._tasks.pop(message.id, None)
        if running:
            running.cancel()
        if message.op == "unsubscribe":
            return
        if message.op != "subscribe":
            raise InvalidRequest("op: say subscribe or unsubscribe.", param="op")
        if len(self._tasks) >= MAX_SUBSCRIPTIONS:
            raise InvalidRequest(f"At most {MAX_SUBSCRIPTIONS} subscriptions on one socket.", param="id")
        task = self._tasks[message.id] = asyncio.create_task(self._follow(message))
        if message.topic.startswith("turn:"):
            self._turn_tasks.add(task)

    async def _follow(self, message: Subscribe) -> None:
        subscription = Subscription(
            actor=self.actor,
            topic=message.topic,
            level=message.level,
            q=message.q,
            after=message.after or "",
            form=message.form,
            shown=tuple(message.shown),
            language=self.language if message.form == "html" else "",
        )
        head = b'{"id":%d,"op":' % message.id
        try:
            async for body in follow(subscription):
                await self._send(head + body)
            await self._send(head + b'"end"}')
        except AgentsError as error:
            await self.send_message(message.id, "error", error=error.body()["error"])
        except Exception as error:  # noqa: BLE001 - an edge of ours: one subscription ends, the socket stays
            await self.send_message(message.id, "error", error=_error_body(error, message.topic))
        finally:
            if self._tasks.get(message.id) is asyncio.current_task():
                del self._tasks[message.id]

    @classmethod
    async def settle(cls, seconds: float) -> None:
        """Wait until the sockets have sent the end of turns that ended: called before the server stops. Turns that
        wait for their client do not end, so it takes no longer than ``seconds``."""
        following = [task for task in cls._turn_tasks if not task.done()]
        if following:
            await asyncio.wait(following, timeout=seconds)

    # ------------------------------------------------------------------------------------- sending

    async def send_message(self, message_id: int, op: str, **fields: Any) -> None:
        await self._send(msgspec.json.encode({"id": message_id, "op": op, **fields}))

    async def _send(self, body: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the socket closed meanwhile
            await super().send(text_data=body.decode())


def _error_body(error: Exception, topic: str) -> dict[str, Any]:
    unavailable = failures.unavailable(error, f"topic={topic}")
    if unavailable is not None:
        return dict(unavailable.body()["error"], retry_after_s=int(unavailable.headers["Retry-After"]))
    log.error("topic=%s: the subscription broke", topic, exc_info=error)
    return {"message": "The server made a mistake."}


def _parse(data: str | bytes) -> Subscribe:
    try:
        return msgspec.json.decode(data, type=Subscribe)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"This message cannot be read: {error}", code="invalid_json") from error
