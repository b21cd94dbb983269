"""Walks over the items of a session, turn by turn: one turn at a time is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.openai_agents.store import items, sessions
from agents.openai_agents.store.items import ItemPlace
from agents.openai_agents.store.sessions import StoredSession
from agents.openai_agents.wire import items as wire
from agents.record.schemas.content import CompletionMessage
from agents.record.schemas.events import InferenceDetail
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import read_turns, replay

JSON = dict[str, Any]


def of_turn(actor: Actor, turn: int, *, newest_first: bool) -> Iterator[JSON]:
    """Yield the items of a turn, those in progress too, with what they have so far. Raises NotFound."""
    found = list(_items(read_turns.turn(actor, turn)))
    yield from reversed(found) if newest_first else found


def _items(turn: TurnSnapshot) -> Iterator[JSON]:
    yield from wire.input_items(turn.key, msgspec.json.decode(turn.input_messages))
    for step in turn.steps:
        is_open = step.type == "inference" and step.completed_at is None
        detail = _typed(turn.key, step) if is_open else step.detail
        yield from wire.step_items(turn.key, step, msgspec.json.decode(detail or b"{}"))


def _typed(turn: int, step: StepSnapshot) -> bytes:
    """Return the detail of an inference that still runs, with what was typed so far."""
    message = CompletionMessage(content=replay.typed_text(turn, step.key))
    detail = InferenceDetail(model_response=message, reasoning=replay.typed_text(turn, step.key, "reasoning"))
    return detail.model_dump_json(exclude_none=True).encode()


def of_session(actor: Actor, row: StoredSession, after: str, *, newest_first: bool) -> Iterator[JSON]:
    """Yield the items of a session: of its turns, and those that were put into it by hand, in order; from the turn on
    that the item ``after`` is of. Raises InvalidRequest where there is no such item."""
    places = items.places(row.key)
    if newest_first:
        places.reverse()
    for place in places[_start(actor, row, places, after) :]:
        if place.is_turn:
            with suppress(NotFound):  # a turn that was deleted meanwhile, or that the actor may not see, has no items
                yield from of_turn(actor, place.key, newest_first=newest_first)
        else:
            nobody = ids.part("turn", ids.Kind.SESSION, row.key)
            yield from wire.hand_items(place.key, items.body_of(place.key), nobody)


def _start(actor: Actor, row: StoredSession, places: Sequence[ItemPlace], after: str) -> int:
    """Return from which place on an item occurs."""
    if not after:
        return 0
    step, item = ids.parse_part(ids.Kind.STEP, after), ids.parse_part(ids.Kind.ITEM, after)
    turn = wire.turn_of_input_item(after)
    if step is not None:
        turn = sessions.turn_of_step(actor, row.key, step)
    wanted = item if turn is None else turn
    found = next((position for position, place in enumerate(places) if place.key == wanted), None)
    if found is None and item is None:
        raise InvalidRequest(f"after: not the id of an item here: '{after[:80]}'.", param="after")
    return found or 0  # what a user said while a turn ran is somewhere in it
