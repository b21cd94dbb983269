"""The order of a session: where its turns stand and what they continue, and the items that are no
turn's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from agents.record.models.turns import Item, Response, Turn
from agents.record.schemas.turns import ItemSnapshot

MAX_LOOSE_ITEMS = 500
"""Items of no turn that a session's page shows."""


@dataclass(frozen=True, slots=True)
class TurnPosition:
    """Where a turn stands in its session: ``first_item`` numbers what it begins with, ``branches_from``
    is the turn it continues where that is not the one before it."""

    number: int
    first_item: int
    branches_from: int | None = None


@dataclass(frozen=True, slots=True)
class LooseItem:
    """An item that is no turn's, with its number in the session."""

    number: int
    value: ItemSnapshot


def positions(session: int, turns: Collection[int]) -> dict[int, TurnPosition]:
    """Where these turns of a session stand. The caller has been let in to it."""
    rows = Turn.objects.unscoped("their session was read").filter(session_id=session, pk__in=turns)
    rows_by_key = {key: (number, parent) for key, number, parent in rows.values_list("pk", "number", "parent_id")}
    earlier = [number - 1 for number, _ in rows_by_key.values()]
    before = Turn.objects.unscoped("their session was read").filter(session_id=session, number__in=earlier)
    last = {number + 1: key for key, number in before.values_list("pk", "number")}
    responses = Response.objects.unscoped("their session was read").filter(turn_id__in=turns, number=1)
    firsts = dict(responses.values_list("turn_id", "first_item"))
    return {
        key: TurnPosition(
            number, firsts.get(key, 0), parent if parent not in (None, last.get(number, parent)) else None
        )
        for key, (number, parent) in rows_by_key.items()
    }


def next_item(session: int, number: int) -> int | None:
    """The number of the item with which the turn behind turn ``number`` of a session begins."""
    responses = Response.objects.unscoped("its session was read").filter(turn__session_id=session, number=1)
    following = responses.filter(turn__number__gt=number).order_by("turn__number")
    return following.values_list("first_item", flat=True).first()


def loose_items(session: int) -> list[LooseItem]:
    """The visible items of a session that are no turn's, in order, the first `MOST` of them. The caller
    has been let in to it."""
    rows = Item.objects.unscoped("its session was read").filter(session_id=session, turn=None, hidden=False)
    columns = rows.order_by("number").values_list("number", "pk", "body", "wire")[:MAX_LOOSE_ITEMS]
    return [LooseItem(number, ItemSnapshot(key, bytes(body), bytes(wire))) for number, key, body, wire in columns]
