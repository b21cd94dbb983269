"""Reads and extends a session's history: its items in order, as they are sent to a model, without parsing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import Insert, Select, execute_later
from agents.record.models.turns import Item, Response
from agents.record.schemas.chat import messages_of_row

OFF_PATH = "SELECT f.turn_id FROM agents_fork f WHERE f.session_id = %s"
"""SQL for the forks of a session, which its history leaves out. One mark."""
ON_TRUNK = f"({{0}}turn_id IS NULL OR {{0}}turn_id NOT IN ({OFF_PATH}))"
"""SQL for the items of a session without those of forks; format it with the table's name and a dot. One mark."""

_ADD = Insert(Item, "id session_id turn_id number hidden body wire")


def before(session: int, *, first: int | None = None) -> list[bytes]:
    """Return the messages of a session's visible items; with ``first``, only of those numbered below it."""
    sql = f"SELECT body FROM agents_item WHERE session_id = %s AND NOT hidden AND {ON_TRUNK.format('')}"  # noqa: S608 - a constant of ours
    params: list[int] = [session, session]
    if first is not None:
        sql += " AND number < %s"
        params.append(first)
    with direct_cursor() as cursor:
        cursor.execute(f"{sql} ORDER BY number", params)
        return messages(body for (body,) in cursor.fetchall())


_POSITION = """
SELECT r.previous_id, s.id, s.branched, COALESCE(f.history_end, r.first_item)
FROM agents_response r JOIN agents_turn t ON t.id = r.turn_id JOIN agents_session s ON s.id = t.session_id
LEFT JOIN agents_fork f ON f.turn_id = r.turn_id WHERE r.turn_id = %s AND r.number = 1
"""


def before_turn(turn: int) -> list[bytes]:
    """Return the messages before an existing turn: of the path to the response it continues, or of its whole session
    until then."""
    with direct_cursor() as cursor:
        cursor.execute(_POSITION, [turn])
        previous, session, branched, end = cursor.fetchone()
    if branched and previous is not None:
        return up_to(previous)
    return before(session, first=end)


def messages(bodies: Iterable[bytes]) -> list[bytes]:
    """Return the messages of rows; empty rows have none for the model."""
    return [message for body in bodies if body for message in messages_of_row(bytes(body))]


# The responses from the first of a session to one of its turns: back to the first response of each turn, and
# from there to the response that turn continues.
PATH = """
WITH RECURSIVE path(turn_id, end_item, previous_id) AS (
    SELECT r.turn_id, r.end_item, f.previous_id
    FROM agents_response r JOIN agents_response f ON f.turn_id = r.turn_id AND f.number = 1 WHERE r.id = %s
    UNION ALL
    SELECT r.turn_id, r.end_item, f.previous_id
    FROM path p JOIN agents_response r ON r.id = p.previous_id
    JOIN agents_response f ON f.turn_id = r.turn_id AND f.number = 1
)
"""


# The visible items of a path: those of its turns, and those added to the conversation by hand before
# its end. Two marks: the last response, twice.
ON_PATH = """
FROM agents_item i LEFT JOIN path p ON p.turn_id = i.turn_id
WHERE NOT i.hidden
AND i.session_id = (SELECT t.session_id FROM agents_response r JOIN agents_turn t ON t.id = r.turn_id WHERE r.id = %s)
AND (p.turn_id IS NOT NULL AND (p.end_item IS NULL OR i.number < p.end_item)
     OR i.turn_id IS NULL AND i.number < (SELECT COALESCE(MAX(end_item), 2147483647) FROM path))
"""


def up_to(response: int) -> list[bytes]:
    """Return the messages of the visible items of the path that ends with a response, in order."""
    with direct_cursor() as cursor:
        cursor.execute(f"{PATH} SELECT i.body {ON_PATH} ORDER BY i.number", [response, response])
        return messages(body for (body,) in cursor.fetchall())


def of_turn(turn: int) -> tuple[int, list[bytes]]:
    """Return (number of its first item, messages) of a turn that is being resumed: those after its input and before
    this resume, in order."""
    (first, input_items), *_, (end, _) = _RESPONSES.all(turn)
    return first, messages(body for (body,) in _ITEMS.all(turn, first + input_items, end))


_RESPONSES = Select(Response, "first_item input_items", "turn_id = %s ORDER BY number")
_ITEMS = Select(Item, "body", "turn_id = %s AND NOT hidden AND number >= %s AND number < %s ORDER BY number")


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item to be added: its chat message (or several, joined by commas; empty where the model does not get it),
    and the form it came in."""

    key: int
    body: bytes
    wire: bytes = b""


def append(session: int, turn: int | None, first: int, items: Sequence[NewItem]) -> None:
    """Add items, numbered from ``first``, in the caller's transaction."""
    _ADD.execute_many(
        (item.key, session, turn, first + index, False, item.body, item.wire) for index, item in enumerate(items)
    )


def put(session: int, first: int, items: Sequence[NewItem]) -> None:
    """Add items that belong to no turn, numbered from ``first``, in the caller's transaction."""
    append(session, None, first, items)
    execute_later("UPDATE agents_session SET item_count = %s WHERE id = %s", first + len(items), session)
