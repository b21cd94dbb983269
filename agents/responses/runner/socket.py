"""OpenAI's Responses API over a socket: requests of a client, each answered by the events of its response.

A request names its *lane* (``stream_id``; one has no name). The requests of a lane are worked on one after the other,
in order, those of several lanes at the same time. Each lane remembers its last response, so that a client that stores
nothing (``store: false``) sends only what is new with the next request. What is remembered lives as long as the
socket.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pydantic import TypeAdapter

from agents.base import ids
from agents.base.access import Actor, require
from agents.base.api import negotiation
from agents.base.errors import AgentsError, InvalidRequest, NotFound, RateLimited
from agents.base.reading import read
from agents.base.store import failures
from agents.loop.current_service import service
from agents.record.store.history import NewItem
from agents.responses.runner import files, input, references, sealed_items
from agents.responses.runner.entries import entries_of
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.responses import begin_response, new_head
from agents.responses.schemas.input_items import InputItem
from agents.responses.schemas.requests import CreateResponse, WarmUpResponse
from agents.responses.store import responses
from agents.responses.wire.stream import SocketStream

log = logging.getLogger(__name__)

MAX_LANES = 32
"""Names of lanes on one socket."""
MAX_WAITING = 64
"""Requests that wait on one socket."""
_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_OF_HTTP = ("type", "stream_id", "generate", "stream", "stream_options", "background")
"""Fields of a message that a request over HTTP has not, or that mean nothing here."""
_ITEM: TypeAdapter[Any] = TypeAdapter(InputItem)
Send = Callable[[Sequence[bytes]], Awaitable[None]]


@dataclass(slots=True)
class _Lane:
    """The requests of a lane that wait, the task that works on them, and what it remembers: the id of its last response
    that is not stored, and all items up to its end."""

    name: str | None
    waiting: list[dict[str, Any]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    response: str = ""
    items: Sequence[NewItem] = ()


class ResponseSocket:
    """The requests of one client. ``send`` sends messages, in order, and waits until the client takes them."""

    def __init__(self, actor: Actor, provider_data: Mapping[str, Any], send: Send) -> None:
        self._actor, self._provider_data, self._send = actor, provider_data, send
        self._lanes: dict[str | None, _Lane] = {}
        self._is_over = False

    def receive(self, text: str) -> None:
        """Take a message of the client. Raises AgentsError."""
        message = negotiation.decode_json(text.encode(errors="surrogatepass"))
        if not isinstance(message, dict) or message.get("type") != "response.create":
            raise InvalidRequest("type: say response.create.", param="type", code="invalid_event")
        if self._is_over:
            raise over()
        lane = self._lane(message.get("stream_id"))
        if sum(len(one.waiting) for one in self._lanes.values()) >= MAX_WAITING:
            raise RateLimited(f"{MAX_WAITING} requests wait on this socket already.", code="too_many_requests")
        lane.waiting.append(message)
        if lane.task is None or lane.task.done():
            lane.task = asyncio.create_task(self._work(lane))

    def close(self) -> None:
        """Stop: what is stored goes on, and what is not ends."""
        for lane in self._lanes.values():
            lane.waiting.clear()
            if lane.task is not None:
                lane.task.cancel()

    async def finish(self) -> None:
        """Wait until nothing is worked on; what waits is not begun, and nothing more is taken."""
        self._is_over = True
        tasks = []
        for lane in self._lanes.values():
            lane.waiting.clear()
            if lane.task is not None:
                tasks.append(lane.task)
        if tasks:
            await asyncio.wait(tasks)

    def _lane(self, name: Any) -> _Lane:
        if name is not None and not (isinstance(name, str) and _LANE.fullmatch(name)):
            message = "stream_id: 1 to 256 letters, digits, '_', '.' or '-'."
            raise InvalidRequest(message, param="stream_id", code="invalid_stream_id")
        if name is not None and name not in self._lanes and len(self._lanes.keys() - {None}) >= MAX_LANES:
            message = f"stream_id: a socket has at most {MAX_LANES} of them."
            raise InvalidRequest(message, param="stream_id", code="websocket_stream_limit_reached")
        return self._lanes.setdefault(name, _Lane(name))

    # -------------------------------------------------------------------------------------- requests

    async def _work(self, lane: _Lane) -> None:
        while lane.waiting:
            message = lane.waiting.pop(0)
            try:
                await self._answer(lane, message)
            except AgentsError as error:
                await self._refuse(lane, message, error)
            except Exception as error:  # noqa: BLE001 - an edge of ours: one request fails, the socket stays
                await self._refuse(lane, message, _unexpected(error))

    async def _refuse(self, lane: _Lane, message: Mapping[str, Any], error: AgentsError) -> None:
        """Tell of a request that failed. What it was to go on from is forgotten, as clients expect."""
        if lane.response and message.get("previous_response_id") == lane.response:
            lane.response, lane.items = "", ()
        await self._send([error_message(error, lane.name)])

    async def _answer(self, lane: _Lane, message: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in message.items() if name not in _OF_HTTP}
        body = negotiation.validated(fields, WarmUpResponse if _is_warm_up(message) else CreateResponse)
        request = await read(self._request, lane, body, msgspec.json.encode(fields))
        request = await files.with_files(service().providers, request)
        if _is_warm_up(message):
            head = new_head(request)
            await self._send(SocketStream(head, lane.name).warmed_up(ids.now_us()))
            self._remember(lane, head.id, request, ())
            return
        started = await read(begin_response, service(), request)
        stream = SocketStream(started.head, lane.name)
        async with aclosing(entries_of(started)) as batches:
            async for batch in batches:
                if messages := stream.frames(batch):
                    await self._send(messages)
        if not body.store and stream.state.status in ("completed", "incomplete"):
            self._remember(lane, started.head.id, request, stream.state.output)

    def _request(self, lane: _Lane, body: CreateResponse, raw: bytes) -> ResponseRequest:
        """Return the request with what it refers to. Raises NotFound."""
        require(self._actor, "run")
        body = references.resolved_body(self._actor, body)
        earlier = self._earlier(lane, body)
        return ResponseRequest(self._actor, body, raw, None, self._provider_data, earlier=earlier)

    def _earlier(self, lane: _Lane, body: CreateResponse) -> Sequence[NewItem] | None:
        """Return the items before a request that goes on from what is not stored, or is itself not to be."""
        previous = body.previous_response_id
        if previous is None:
            return None
        if previous == lane.response:
            return lane.items
        try:
            record = responses.get(self._actor, previous, "run")
        except NotFound:
            message = f"Previous response with id '{previous[:100]}' not found."
            raise InvalidRequest(message, param="previous_response_id", code="previous_response_not_found") from None
        return None if body.store or record.is_live else input.copied_items(record)

    def _remember(self, lane: _Lane, response: str, request: ResponseRequest, output: Any) -> None:
        own = input.parse_input(request.body.input, request.readable).rows
        items = sealed_items.opened(self._actor, [_ITEM.validate_json(item) for item in output])
        said = [input.row_of(item) for item in items]
        lane.response, lane.items = response, [*(request.earlier or ()), *own, *said]


def over() -> AgentsError:
    """Return the error of a socket that has been open for as long as one may be."""
    message = "This socket has been open for as long as one may be; open another."
    return InvalidRequest(message, code="websocket_connection_limit_reached")


def _is_warm_up(message: Mapping[str, Any]) -> bool:
    """Whether a request is only to be remembered, so that the next one can go on from it."""
    options = message.get("prompt_cache_options")
    return message.get("generate") is False or (isinstance(options, dict) and options.get("prewarm") is True)


def _unexpected(error: Exception) -> AgentsError:
    unavailable = failures.unavailable(error, "a response over a socket")
    if unavailable is not None:
        return unavailable
    log.error("a response over a socket: unexpected error", exc_info=error)
    return AgentsError("The server made a mistake.", code="server_error")


def error_message(error: AgentsError, lane: str | None = None) -> bytes:
    """Return the message that tells of an error."""
    told = error.body()["error"]
    fields = {"type": "error", "status": error.status, "error": {**told, "code": told["code"] or told["type"]}}
    return msgspec.json.encode(fields if lane is None else {**fields, "stream_id": lane})
