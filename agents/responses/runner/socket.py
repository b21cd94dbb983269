"""OpenAI's Responses API over a socket: requests of a client, each answered by the events of its response.

A request names its *lane* (``stream_id``; one has no name). The requests of a lane are worked on one after the other,
in order, those of several lanes at the same time. Each lane remembers its last response, so that a client that stores
nothing (``store: false``) sends only what is new with the next request. What is remembered lives as long as the
socket. A response that runs may be steered (`agents.responses.runner.steering`).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import msgspec
from pydantic import ConfigDict, TypeAdapter

from agents.base import ids
from agents.base.access import Actor, require
from agents.base.api import negotiation
from agents.base.errors import AgentsError, InvalidRequest, NotFound, RateLimited, Unavailable
from agents.base.reading import read
from agents.base.store import failures
from agents.loop.current_service import service
from agents.record.schemas.events import Delta, Entry, TurnAwaiting, TurnEnded, TurnResumed, begins_following
from agents.record.store import inputs
from agents.record.store.history import NewItem
from agents.responses.runner import files, input, references, sealed_items, steering
from agents.responses.runner.entries import entries_of
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.responses import begin_response, new_head
from agents.responses.runner.steering import NotSteered, RunningResponse, Steer
from agents.responses.schemas.input_items import InputItem
from agents.responses.schemas.requests import CreateResponse, WarmUpResponse
from agents.responses.schemas.steering import SteerResponse
from agents.responses.store import responses
from agents.responses.wire.socket_stream import SocketStream, error_message
from agents.responses.wire.steering import failed_fields, pending_fields

log = logging.getLogger(__name__)

MAX_LANES = 32
"""Names of lanes on one socket."""
MAX_WAITING = 64
"""Requests that wait on one socket."""
MAX_ENDED = 64
"""Responses that have ended and are still known to steering, which is told so."""
_LANE = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_OF_HTTP = ("type", "stream_id", "generate", "stream", "stream_options", "background")
"""Fields of a message that a request over HTTP has not, or that mean nothing here."""
_ITEM: TypeAdapter[Any] = TypeAdapter(InputItem, config=ConfigDict(defer_build=True))
Send = Callable[[Sequence[bytes]], Awaitable[None]]


@dataclass(slots=True)
class _Lane:
    """The requests of a lane that wait, the task that works on them, and what it remembers: the id of its last response
    that is not stored, and all items up to its end; and what its client has said to responses (``pending``, by their
    ids) that wait for its answers. Who has ``telling`` tells the client something, in order."""

    name: str | None
    waiting: list[dict[str, Any]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    response: str = ""
    items: Sequence[NewItem] = ()
    pending: dict[str, list[Steer]] = field(default_factory=dict)
    telling: asyncio.Lock = field(default_factory=asyncio.Lock)


class ResponseSocket:
    """The requests of one client. ``send`` sends messages, in order, and waits until the client takes them."""

    def __init__(self, actor: Actor, provider_data: Mapping[str, Any], send: Send) -> None:
        self._actor, self._provider_data, self._send = actor, provider_data, send
        self._lanes: dict[str | None, _Lane] = {}
        self._responses: dict[str, tuple[_Lane, RunningResponse]] = {}
        self._steering = asyncio.Lock()
        self._steers: set[asyncio.Task[None]] = set()
        self._refusal: AgentsError | None = None

    def receive(self, text: str) -> bool:
        """Take a message of the client, and return whether it is a request for a response. Raises AgentsError."""
        message = negotiation.decode_json(text.encode(errors="surrogatepass"))
        if isinstance(message, dict) and message.get("type") == "response.steer":
            self._take_steer(message)
            return False
        if not isinstance(message, dict) or message.get("type") != "response.create":
            error = "type: say response.create or response.steer."
            raise InvalidRequest(error, param="type", code="invalid_event")
        if self._refusal is not None:
            raise self._refusal
        lane = self._lane(message.get("stream_id"))
        if sum(len(one.waiting) for one in self._lanes.values()) >= MAX_WAITING:
            raise RateLimited(f"{MAX_WAITING} requests wait on this socket already.", code="too_many_requests")
        lane.waiting.append(message)
        if lane.task is None or lane.task.done():
            lane.task = asyncio.create_task(self._work(lane))
        return True

    def close(self) -> None:
        """Stop: what is stored goes on, and what is not ends."""
        for lane in self._lanes.values():
            lane.waiting.clear()
            if lane.task is not None:
                lane.task.cancel()
        for task in self._steers:
            task.cancel()

    async def finish(self) -> None:
        """Wait until nothing is worked on; what waits is not begun, and nothing more is taken."""
        self._refusal = over()
        tasks = []
        for lane in self._lanes.values():
            lane.waiting.clear()
            if lane.task is not None:
                tasks.append(lane.task)
        if tasks:
            await asyncio.wait(tasks)

    async def stop(self, reason: AgentsError) -> None:
        """Stop because the server does: tell of each request that waits, and of each response that runs, what becomes
        of it."""
        self._refusal = reason
        messages = []
        for lane, running in self._responses.values():
            if not running.is_over:
                is_stored = running.request.body.store
                fate = "goes on without you: read it by its id" if is_stored else "is not stored, and ends: ask again"
                left = Unavailable(f"The server stops. Response '{running.id}' {fate}.", code=reason.code)
                messages.append(error_message(left, lane.name))
        for lane in self._lanes.values():
            messages += [error_message(reason, lane.name)] * len(lane.waiting)
        await self._send(messages)
        self.close()

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
            await _attempt(self._answer(lane, message), partial(self._refuse, lane, message))

    async def _refuse(self, lane: _Lane, message: Mapping[str, Any], error: AgentsError) -> None:
        """Tell of a request that failed. What it was to go on from is forgotten, as clients expect."""
        await self._send([error_message(error, lane.name)])
        if lane.response and message.get("previous_response_id") == lane.response:
            lost = lane.pending.pop(lane.response, [])
            lane.response, lane.items = "", ()
            reason = NotSteered("What it would go on from is forgotten.", code="successor_creation_failed")
            for steer in lost:
                await self._send([_failed(steer.returned, reason, self._stream(steer.response))])

    async def _answer(self, lane: _Lane, message: Mapping[str, Any]) -> None:
        fields = {name: value for name, value in message.items() if name not in _OF_HTTP}
        pending = lane.pending.get(fields.get("previous_response_id", ""), [])
        if pending:
            fields["input"] = steering.with_steers(fields.get("input"), pending)
        body = negotiation.validated(fields, WarmUpResponse if _is_warm_up(message) else CreateResponse)
        request = await read(self._request, lane, body, msgspec.json.encode(fields))
        request = await files.with_files(service().providers, request)
        if _is_warm_up(message):
            head = new_head(request)
            await self._send(SocketStream(head, lane.name).warmed_up(ids.now_us()))
            self._remember(lane, head.id, request, ())
            return
        started = await read(begin_response, service(), request)
        lane.pending.pop(body.previous_response_id or "", None)
        await self._follow(lane, RunningResponse(request, started, SocketStream(started.head, lane.name)))

    # ------------------------------------------------------------------------------------- responses

    async def _follow(self, lane: _Lane, running: RunningResponse) -> None:
        """Tell of a response, and of those that follow it because it is steered."""
        self._know(lane, running)
        try:
            async with aclosing(entries_of(running.started, with_following=True)) as batches:
                async for batch in batches:
                    for part in _by_response(batch, running.started.first_seq):
                        async with lane.telling:
                            running = await self._tell(lane, running, part)
        except asyncio.CancelledError:  # nobody is there to be told
            running.steers = []
            raise
        finally:
            running.is_over = True
            await self._give_back(running, steering.ended("failed"))  # what is left if its end was not told

    async def _tell(self, lane: _Lane, running: RunningResponse, part: Sequence[Entry]) -> RunningResponse:
        """Tell of entries of one response; returns it, or the one that they begin."""
        first, last = (part[0], part[-1]) if part else (None, None)
        if isinstance(first, TurnResumed) and first.steering and begins_following(first, running.started.first_seq):
            await self._send(running.stream.frames([first]))
            self._end(lane, running)
            running = running.followed(first.steering, first.at, lane.name)
            if not running.request.body.store:
                running.request = replace(running.request, earlier=lane.items)
            self._know(lane, running)
        if messages := running.stream.frames(part):
            await self._send(messages)
        if isinstance(last, TurnAwaiting):
            self._end(lane, running)
            await self._let_wait(lane, running)
        elif isinstance(last, TurnEnded):
            self._end(lane, running)
            await self._give_back(running, steering.ended(running.stream.state.status))
        return running

    def _end(self, lane: _Lane, running: RunningResponse) -> None:
        running.is_over = True
        state = running.stream.state
        if not running.request.body.store and state.status in ("completed", "incomplete"):
            self._remember(lane, running.id, running.request, state.output)

    def _know(self, lane: _Lane, running: RunningResponse) -> None:
        """Remember a response for its client's steering; of those that have ended only the last."""
        self._responses[running.id] = lane, running
        over = [name for name, (_, known) in self._responses.items() if known.is_over]
        for name in over[: max(len(over) - MAX_ENDED, 0)]:
            del self._responses[name]

    # -------------------------------------------------------------------------------------- steering

    def _take_steer(self, message: dict[str, Any]) -> None:
        if len(self._steers) >= MAX_WAITING:
            error = NotSteered(f"{MAX_WAITING} messages wait already.", code="too_many_pending_steers")
            work = self._refuse_steer(message, error)
        else:
            work = self._steer(message)
        task = asyncio.create_task(work)
        self._steers.add(task)
        task.add_done_callback(self._steers.discard)

    async def _steer(self, message: dict[str, Any]) -> None:
        async with self._steering:
            await _attempt(self._accept(message), partial(self._refuse_steer, message))

    async def _accept(self, message: dict[str, Any]) -> None:
        """Take what a client says to a response. Raises NotSteered."""
        try:
            body: SteerResponse = negotiation.validated(message, SteerResponse)
        except InvalidRequest as error:
            raise NotSteered(error.message, code="invalid_input") from error
        lane, running = self._steered(body.previous_response_id)
        running.check()
        require(self._actor, "run")
        steer = await steering.read_steer(running.request, body)
        async with lane.telling:
            running.check()
            await running.add(steer)
            await self._send(running.stream.note("response.steer.accepted", {"steer": steer.json}))

    def _steered(self, public_id: str) -> tuple[_Lane, RunningResponse]:
        found = self._responses.get(public_id)
        if found is None:
            message = f"Response '{public_id}' is not one of this socket."
            raise NotSteered(message, code="response_not_found")
        return found

    async def _refuse_steer(self, message: dict[str, Any], error: AgentsError) -> None:
        """Give back what a client has said that is not said to the model."""
        name = message.get("previous_response_id")
        name = name if isinstance(name, str) else ""
        returned = {"previous_response_id": name, "input": message.get("input", "")}
        telling = self._responses[name][0].telling if name in self._responses else nullcontext()
        async with telling:
            await self._send([_failed(returned, error, self._stream(name))])

    def _stream(self, public_id: str) -> SocketStream | None:
        found = self._responses.get(public_id)
        return found[1].stream if found else None

    async def _give_back(self, running: RunningResponse, error: AgentsError) -> None:
        steers, running.steers = running.steers, []
        for steer in steers:
            await self._send([_failed(steer.returned, error, running.stream)])

    async def _let_wait(self, lane: _Lane, running: RunningResponse) -> None:
        """Keep what was said to a response whose client has to answer calls, for the request that does."""
        steers, running.steers = running.steers, []
        if not steers:
            return
        if running.started.loop is None:
            await read(inputs.withdraw, [name for steer in steers for name in steer.ids])
        lane.pending[running.id] = steers
        output = list(running.stream.state.output)
        for steer in steers:
            await self._send(running.stream.note("response.steer.pending", pending_fields(steer.json, output)))

    # ------------------------------------------------------------------------------ what is remembered

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


def _by_response(batch: Sequence[Entry], first_seq: int) -> Iterator[Sequence[Entry]]:
    """Yield the entries of a batch, those of each response by themselves."""
    starts = [
        at
        for at, entry in enumerate(batch)
        if at and not isinstance(entry, Delta) and begins_following(entry, first_seq)
    ]
    for start, end in pairwise([0, *starts, len(batch)]):
        yield batch[start:end]


def _failed(steer: dict[str, Any], error: AgentsError, stream: SocketStream | None) -> bytes:
    """Return the message that gives back what a client has said, to a response of the socket if there is one."""
    fields = failed_fields(steer, error.code or error.type, error.message)
    if stream is not None:
        return stream.note("response.steer.failed", fields)[0]
    return msgspec.json.encode({"type": "response.steer.failed", **fields, "sequence_number": 0})


async def _attempt(work: Awaitable[None], refuse: Callable[[AgentsError], Awaitable[None]]) -> None:
    """Do what a message asks for, or tell why not: whatever fails, the socket stays."""
    try:
        await work
    except AgentsError as error:
        await refuse(error)
    except Exception as error:  # noqa: BLE001 - an edge of ours: one message fails, the socket stays
        await refuse(_unexpected(error))


def _unexpected(error: Exception) -> AgentsError:
    unavailable = failures.unavailable(error, "a response over a socket")
    if unavailable is not None:
        return unavailable
    log.error("a response over a socket: unexpected error", exc_info=error)
    return AgentsError("The server made a mistake.", code="server_error")
