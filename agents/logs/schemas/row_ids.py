"""Public ids of the rows of lists, and the cursors that pages of them begin at."""

from __future__ import annotations

import re

from agents.base import ids
from agents.logs.schemas.sorting import SortOrder, SortPosition
from agents.query.tree import Level

_KINDS: dict[Level, ids.Kind] = {
    "session": ids.Kind.SESSION,
    "turn": ids.Kind.TURN,
    "response": ids.Kind.RESPONSE,
    "step": ids.Kind.STEP,
}


def public(level: Level, key: int) -> str:
    """Return the public id of a row: of a response that of OpenAI's API."""
    return ids.openai(ids.Kind.RESPONSE, key) if level == "response" else ids.public(_KINDS[level], key)


def key_of(level: Level, public_id: str) -> int | None:
    """Return the key of a row's public id; None where it is none."""
    if level == "response":
        return ids.parse_openai(ids.Kind.RESPONSE, public_id)
    return ids.parse(_KINDS[level], public_id)


def cursor_of(level: Level, order: SortOrder, position: SortPosition) -> str:
    """Return a position in an order as text: the row's id, behind its amount where the order is that of an amount, in
    microseconds, billionths of a dollar or tokens."""
    public_id = public(level, position.key)
    if order.is_by_time:
        return public_id
    return f"{'none' if position.amount is None else position.amount}:{public_id}"


def position_of(level: Level, cursor: str) -> SortPosition | None:
    """Return the position that a cursor with an amount stands for; None where it is none."""
    match = re.fullmatch(r"(none|-?\d{1,18}):(.+)", cursor)
    key = key_of(level, match[2]) if match else None
    if match is None or key is None:
        return None
    return SortPosition(None if match[1] == "none" else int(match[1]), key)
