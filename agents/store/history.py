"""A session's history: its items in order, as they are sent to a model, without parsing."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from agents import ids
from agents.models import Item
from agents.store.sql import Insert

_ADD = Insert(Item, "id session_id turn_id number hidden body wire")


def before(session: int, *, first: int | None = None) -> list[bytes]:
    """The visible items of a session; with ``first``, only those numbered below it."""
    sql = "SELECT body FROM agents_item WHERE session_id = %s AND NOT hidden"
    params: list[int] = [session]
    if first is not None:
        sql += " AND number < %s"
        params.append(first)
    with connection.cursor() as cursor:
        cursor.execute(f"{sql} ORDER BY number", params)
        return [bytes(body) for (body,) in cursor.fetchall()]


def of_turn(turn: int) -> tuple[int, list[bytes]]:
    """(number of its first item, a turn's items in order)."""
    rows = Item.objects.unscoped("its run was let in").filter(turn_id=turn).order_by("number")
    found = list(rows.values_list("number", "body"))
    return (found[0][0] if found else 0), [bytes(body) for _, body in found]


def append(session: int, turn: int, first: int, bodies: Sequence[bytes]) -> None:
    """Add a turn's input, numbered from ``first``, in the caller's transaction."""
    _ADD.many((ids.new_key(), session, turn, first + place, False, body, b"") for place, body in enumerate(bodies))
