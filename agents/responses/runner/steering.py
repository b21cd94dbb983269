"""What a client says while a response of its socket runs (``response.steer``).

It is stored for the response's turn until the run takes it, before the next inference: the response ends there, and
another follows that begins with it. What a response that is not stored is steered with is kept here. If the client has
to answer calls first, it waits here for the request that does. What comes too late is given back to the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.base import ids
from agents.base.errors import AgentsError, Conflict
from agents.base.reading import read
from agents.loop.current_service import service
from agents.loop.images import check_images
from agents.loop.run import ClientInput
from agents.record.schemas.content import TurnMessage
from agents.record.schemas.events import Steering
from agents.record.store import inputs
from agents.record.store.inputs import NewInput, TurnOver
from agents.record.store.new_responses import following_settings
from agents.responses.runner import files
from agents.responses.runner.input import parse_input
from agents.responses.runner.requests import ResponseRequest, StartedResponse
from agents.responses.schemas.steering import SteerResponse
from agents.responses.wire.responses import ResponseHead
from agents.responses.wire.socket_stream import SocketStream

MAX_WAITING = 32
"""Most messages of a client that wait for one response to end."""

JSON = dict[str, Any]


class NotSteered(AgentsError):
    """What was said is not, and will not be, said to the model."""

    status = 400
    type = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Steer:
    """Something that a client has said: what it ``sent``, its items and messages, and the ``ids`` that these are stored
    under."""

    id: str
    response: str
    sent: Any
    items: Sequence[Any]
    readable: Sequence[Any]
    messages: Sequence[TurnMessage]
    ids: Sequence[str] = ()

    @property
    def json(self) -> JSON:
        return {"id": self.id, "previous_response_id": self.response}

    @property
    def returned(self) -> JSON:
        """The same with what was sent, for a client that gets it back."""
        return {**self.json, "input": self.sent}


@dataclass(slots=True)
class RunningResponse:
    """A response of a socket that runs, and what its client has said meanwhile that no response begins with yet."""

    request: ResponseRequest
    started: StartedResponse
    stream: SocketStream
    steers: list[Steer] = field(default_factory=list)
    is_over: bool = False

    @property
    def id(self) -> str:
        return self.stream.head.id

    def check(self) -> None:
        """Raise NotSteered where nothing more may be said."""
        if not self.request.is_steerable:
            message = "A response in a conversation, or one that may sum up what was said, is not steered."
            raise NotSteered(message, code="steering_not_supported")
        if self.is_over:
            raise ended(self.stream.state.status)
        if len(self.steers) >= MAX_WAITING:
            message = f"{MAX_WAITING} messages wait for this response to end already."
            raise NotSteered(message, code="too_many_pending_steers")

    async def add(self, steer: Steer) -> None:
        """Keep what was said until the run takes it. Raises NotSteered."""
        if self.started.loop is not None:
            self.started.loop.progress.read_input = self._read_input
            self.steers.append(replace(steer, ids=[f"{steer.id}.{at}" for at in range(len(steer.messages))]))
            return
        new = [NewInput(inputs.message_json(message)) for message in steer.messages]
        try:
            names = await read(inputs.add, self.request.actor, self.started.turn, new, None)
        except TurnOver:
            raise ended("completed") from None
        except Conflict as conflict:
            raise NotSteered(conflict.message, code="too_many_pending_steers") from None
        self.steers.append(replace(steer, ids=names))

    async def _read_input(self) -> ClientInput | None:
        """Hand what was said to a run that is not stored."""
        messages = [message for steer in self.steers for message in steer.messages]
        names = [name for steer in self.steers for name in steer.ids]
        return ClientInput(messages, names) if messages else None

    def followed(self, steering: Steering, at_us: int, lane: str | None) -> RunningResponse:
        """Return the response that follows this one with what its client has said."""
        said = [steer for steer in self.steers if set(steer.ids) <= set(steering.ids)]
        head = self.stream.head
        key = ids.parse_openai(ids.Kind.RESPONSE, steering.response)
        assert key is not None  # the run has made it
        head = ResponseHead(key, at_us, following_settings(head.settings, head.id), head.seal)
        items = [item for steer in said for item in steer.items]
        readable = [item for steer in said for item in steer.readable]
        body = self.request.body.model_copy(update={"input": items, "previous_response_id": self.id})
        request = replace(self.request, body=body, readable=readable)
        later = [steer for steer in self.steers if steer not in said]
        following = RunningResponse(request, self.started, SocketStream(head, lane), later)
        if self.started.loop is not None:
            self.started.loop.progress.read_input = following._read_input
        return following


def ended(status: str) -> NotSteered:
    """Return the error of a response that has ended so."""
    if status == "completed":
        return NotSteered(
            "The response is completed: nothing more is said to its model.", code="response_already_completed"
        )
    return NotSteered("The response does not run any more.", code="response_not_active")


async def read_steer(request: ResponseRequest, message: SteerResponse) -> Steer:
    """Read what a client says to a response with its files. Raises NotSteered."""
    try:
        readable = await files.readable(service().providers, request.actor, message.items)
        parsed = parse_input(message.items, readable)
        check_images(parsed.messages)
    except AgentsError as error:
        if error.status >= 500:
            raise
        raise NotSteered(error.message, code="invalid_input") from error
    sent = message.model_dump(mode="json", exclude_unset=True)["input"]
    name = f"steer_{ids.new_key():032x}"
    return Steer(name, message.previous_response_id, sent, parsed.items, parsed.readable, parsed.messages)


def with_steers(value: Any, steers: Sequence[Steer]) -> Any:
    """Return the input of a request with what its client has said before: after the answers to calls, which a model
    gets first, and before all else. An input that is none is returned as it is."""
    if not isinstance(value, str | list):
        return value
    items = [{"type": "message", "role": "user", "content": value}] if isinstance(value, str) else value
    said = [item.model_dump(mode="json", exclude_none=True) for steer in steers for item in steer.items]
    answers = [at for at, item in enumerate(items, start=1) if isinstance(item, dict) and _is_answer(item)]
    start = answers[-1] if answers else 0
    return [*items[:start], *said, *items[start:]]


def _is_answer(item: JSON) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and (kind.endswith("_output") or kind == "mcp_approval_response")
