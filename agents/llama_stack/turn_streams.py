"""A turn as the answer of a request: its stream of frames, or drained to one object."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from django.http import HttpResponse

from agents.base import sse
from agents.base.access import Actor
from agents.base.api.negotiation import json_response
from agents.base.errors import AgentsError, type_of
from agents.llama_stack.stream import Stream, error_status
from agents.llama_stack.wire import turn_json
from agents.loop.service import Started
from agents.record import live
from agents.record.schemas.events import Cursor, Delta, TurnEnded
from agents.store import values


def frames(started: Started, *, after: Cursor | None = None, with_ids: bool = False) -> AsyncIterator[bytes]:
    """The frames of a leg (or of everything behind a cursor), with comments in quiet times."""
    seen = (started.first_seq - 1, 1 << 62) if after is None else after
    encoder = Stream(started.turn, started.session, after=seen, with_ids=with_ids)
    return sse.paced(live.follow(started.turn, until_leg=started.first_seq), encoder.feed)


async def drained(actor: Actor, started: Started, request_id: str = "") -> HttpResponse:
    """The turn once its leg is over: the same as the stream's last object. One that failed is an
    error with the status of its cause."""
    end = None
    async for batch in live.follow(started.turn, until_leg=started.first_seq):
        if batch and not isinstance(batch[-1], Delta):
            end = batch[-1]
    turn = await live.read(values.turn, actor, started.turn, "run")
    if isinstance(end, TurnEnded) and end.status != "completed":
        return _failed(end, turn_json(turn), request_id)
    return json_response(turn_json(turn))


async def settled(actor: Actor, started: Started) -> HttpResponse:
    """The turn once its leg is over, however it ended."""
    async for _ in live.follow(started.turn, until_leg=started.first_seq):
        pass
    return json_response(turn_json(await live.read(values.turn, actor, started.turn, "run")))


def _failed(end: TurnEnded, turn: bytes, request_id: str) -> HttpResponse:
    words = end.error.message if end.error else f"The turn was {end.status}: {end.reason}"
    status = error_status(end.error) if end.status == "failed" else 409
    error = AgentsError(words, code=end.error.type if end.error else end.status)
    error.type = type_of(status)
    body = error.body(request_id)
    body["turn"] = msgspec.Raw(turn)
    return json_response(msgspec.json.encode(body), status, {"x-should-retry": "false"})
