"""Answers requests with a turn: as a stream of frames, or as one object at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import chain

import msgspec
from django.http.response import HttpResponseBase

from agents.base import sse
from agents.base.access import Action, Actor
from agents.base.api import large_answers
from agents.base.errors import AgentsError, type_of
from agents.base.reading import read
from agents.llama_stack.stream import TurnStream, error_status
from agents.llama_stack.wire import turn_chunks
from agents.loop.service import Started
from agents.record import live
from agents.record.schemas.events import LAST_ORDINAL, Cursor, Delta, TurnEnded
from agents.record.store import read_turns
from agents.record.store.read_turns import PartialTurn


def frames(started: Started, *, after: Cursor | None = None, with_ids: bool = False) -> AsyncIterator[bytes]:
    """Yield the frames of a started response (or everything after a cursor), with keep-alive comments."""
    cursor = (started.first_seq - 1, LAST_ORDINAL) if after is None else after
    encoder = TurnStream(started.turn, started.session, after=cursor, with_ids=with_ids)
    sender = sse.FrameSender(encoder.feed)
    batches = live.follow(started.turn, until_response=started.first_seq, take=sender.send)
    return sse.with_keep_alive(batches, sender)


async def turn_answer(actor: Actor, started: Started, request_id: str = "") -> HttpResponseBase:
    """Answer with the turn once its response has ended: the same object as the stream's last. A failed turn
    is an error with the status of its cause."""
    end = None
    async for batch in live.follow(started.turn, until_response=started.first_seq):
        if batch and not isinstance(batch[-1], Delta):
            end = batch[-1]
    if isinstance(end, TurnEnded) and end.status != "completed":
        return await read(_failure_answer, end, actor, started.turn, request_id)
    return await read(current_turn_answer, actor, started.turn, "run")


async def ended_turn_answer(actor: Actor, started: Started) -> HttpResponseBase:
    """Answer with the turn once its response has ended, whatever its status."""
    async for _ in live.follow(started.turn, until_response=started.first_seq):
        pass
    return await read(current_turn_answer, actor, started.turn, "run")


def current_turn_answer(actor: Actor, turn: int, action: Action = "read") -> HttpResponseBase:
    """Answer with a turn as it is now. Raises NotFound."""
    partial_turn = read_turns.partial_turn(actor, turn, action)
    return large_answers.answer(partial_turn.weight, partial_turn_chunks(partial_turn))


def partial_turn_chunks(partial_turn: PartialTurn) -> Iterator[bytes]:
    """Encode a turn as JSON."""
    return turn_chunks(partial_turn.turn, partial_turn.details.load)


def _failure_answer(end: TurnEnded, actor: Actor, turn: int, request_id: str) -> HttpResponseBase:
    message = end.error.message if end.error else f"The turn was {end.status}: {end.reason}"
    status = error_status(end.error) if end.status == "failed" else 409
    error = AgentsError(message, code=end.error.type if end.error else end.status)
    error.type = type_of(status)
    error_body, partial_turn = msgspec.json.encode(error.body(request_id)), read_turns.partial_turn(actor, turn, "run")
    chunks = chain([error_body[:-1], b',"turn":'], partial_turn_chunks(partial_turn), [b"}"])
    return large_answers.answer(partial_turn.weight, chunks, status=status, headers={"x-should-retry": "false"})
