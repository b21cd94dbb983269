"""The order of a session: the positions of its turns, what each continues, and the items that belong to
no turn."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from agents.record.models.turns import Item, Response, Turn
from agents.record.schemas.turns import ItemSnapshot

MAX_LOOSE_ITEMS = 500
"""Most items without a turn that a session's page shows."""


@dataclass(frozen=True, slots=True)
class TurnPosition:
    """The position of a turn in its session: ``first_item`` is the number of its first item, ``branches_from``
    the turn it continues where that is not the one before it."""

    number: int
    first_item: int
    branches_from: int | None = None


@dataclass(frozen=True, slots=True)
class LooseItem:
    """An item that belongs to no turn, with its number in the session."""

    number: int
    value: ItemSnapshot


def positions(session: int, turns: Collection[int]) -> dict[int, TurnPosition]:
    """Return the positions of these turns of a session. The caller has checked that it is visible."""
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
    """Return the number of the first item of the turn after turn ``number`` of a session; None if there is none."""
    responses = Response.objects.unscoped("its session was read").filter(turn__session_id=session, number=1)
    following = responses.filter(turn__number__gt=number).order_by("turn__number")
    return following.values_list("first_item", flat=True).first()


def loose_items(session: int) -> list[LooseItem]:
    """Return the first `MAX_LOOSE_ITEMS` visible items of a session that belong to no turn, in order. The caller has
    checked that it is visible."""
    rows = Item.objects.unscoped("its session was read").filter(session_id=session, turn=None, hidden=False)
    columns = rows.order_by("number").values_list("number", "pk", "body", "wire")[:MAX_LOOSE_ITEMS]
    return [LooseItem(number, ItemSnapshot(key, bytes(body), bytes(wire))) for number, key, body, wire in columns]
