"""Clients that keep the history themselves send all of it again with each request. Where it begins with
exactly what a turn here was told and has said, the request continues that turn, or its session, so that
the log shows one conversation and not as many as there were requests."""

from __future__ import annotations

from collections.abc import Sequence

from agents.base import ids
from agents.base.access import Actor
from agents.record.models.choices import TurnStatus
from agents.record.schemas.items import joined_calls
from agents.record.store import history
from agents.responses.runner.input import Given, Place, read
from agents.responses.schemas.input_items import FunctionCallItem, MessageItem
from agents.responses.store import responses


def join(actor: Actor, given: Given) -> tuple[Place, Given] | None:
    """Where a request belongs that names no place, and what of its input is new; None where it begins
    something of its own."""
    found = _last_of_ours(given.items)
    if found is None or found[0] + 1 == len(given.items):
        return None
    place, step = found
    record = responses.of_step(actor, step)
    if record is None or record.is_live or not _is_told(given, place + 1, record.key):
        return None
    waits = record.turn_status == TurnStatus.AWAITING_INPUT
    rest = read(given.items[place + 1 :], given.told[place + 1 :])
    return Place(record.session, after=record, waiting=record.turn if waits else None), rest


def _last_of_ours(items: Sequence[object]) -> tuple[int, int] | None:
    """(place, step) of the last item that a step of ours said or called."""
    for place in range(len(items) - 1, -1, -1):
        name = _name(items[place])
        if name:
            step = ids.parse_part(ids.Kind.STEP, name)
            return None if step is None else (place, step)
    return None


def _name(item: object) -> str | None:
    """The id of an item that a model said or called."""
    if isinstance(item, MessageItem):
        return item.id if item.role == "assistant" else None
    return item.id if isinstance(item, FunctionCallItem) else None


def _is_told(given: Given, count: int, leg: int) -> bool:
    """Whether the first items are, word by word, all that was said up to a leg's end."""
    sent = [row.body for row in given.rows[:count] if row.body]
    return joined_calls(sent) == joined_calls(history.up_to(leg))
