"""Finds the places of turns, and of items that were put in by hand, among the items of a session."""

from __future__ import annotations

from dataclasses import dataclass

from agents.openai_agents.store import sessions
from agents.record.models.turns import Item, Response


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """The number of the first item of a turn, or of one item that belongs to none, and its key."""

    number: int
    key: int
    is_turn: bool


def places(session: int) -> list[ItemPlace]:
    """Return the places of a session's turns, without forks, and of its other items, in order. The caller has checked
    that it is visible."""
    first = Response.objects.unscoped("its session is visible").filter(turn__session_id=session, number=1)
    of_turns = first.exclude(turn__in=sessions.forks(session)).values_list("first_item", "turn_id")
    rows = Item.objects.unscoped("its session is visible").filter(session_id=session, turn=None, hidden=False)
    found = [ItemPlace(number, key, is_turn=True) for number, key in of_turns]
    found += [ItemPlace(number, key, is_turn=False) for number, key in rows.values_list("number", "pk")]
    return sorted(found, key=lambda place: (place.number, place.key))


def body_of(item: int) -> bytes:
    """Return the chat messages of an item, joined by commas."""
    rows = Item.objects.unscoped("its session is visible").filter(pk=item)
    return bytes(rows.values_list("body", flat=True).first() or b"")
