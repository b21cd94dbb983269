"""Reads the items of a session in order, each with the step it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import portions
from agents.base.store.cursors import direct_cursor
from agents.base.store.portions import Sized
from agents.base.store.sql import columns
from agents.record.models.agents import Session
from agents.record.models.turns import Item, Step
from agents.record.schemas.turns import ItemSnapshot, StepSnapshot
from agents.record.store import history, read_turns

_ROW = ", ".join(f"i.{name}" for name in columns(Item, "id turn_id step_id number body wire"))

_ON_TRUNK = history.ON_TRUNK.format("i.")
_END = "COALESCE((SELECT f.history_end FROM agents_fork f WHERE f.turn_id = %s), %s)"


@dataclass(frozen=True, slots=True)
class _Row:
    key: int
    turn: int | None
    step: int | None
    number: int
    body: bytes
    wire: bytes


MAX_ROWS = 128
"""Most rows that are read at once."""
_HIGHEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """A query for items in order of their numbers, as consecutive parts."""

    parts: tuple[_Part, ...]

    def walk(
        self, *, newest_first: bool = False, start: int | None = None, at_once: int = MAX_ROWS
    ) -> Iterator[ItemSnapshot]:
        """Yield the items one by one, from the number ``start`` on; at most ``at_once`` are in memory."""
        for part in reversed(self.parts) if newest_first else self.parts:
            yield from part.walk(newest_first, start, min(at_once, MAX_ROWS))

    def last(self, condition: str, params: Sequence[Any], limit: int) -> list[ItemSnapshot]:
        """Return the last items that meet a condition on ``i``, newest first."""
        rows: list[_Row] = []
        for part in reversed(self.parts):
            order = f"{condition} ORDER BY i.number DESC LIMIT {limit - len(rows)}"
            rows += [_row(row) for row in part.select(_ROW, order, params)] if len(rows) < limit else []
        return list(_items(rows))

    def near(self, item_id: str, *, newest_first: bool = False) -> int | None:
        """Return the number from which on an item occurs, by its public id; None where the id is not of ours."""
        step, row = ids.parse_part(ids.Kind.STEP, item_id), ids.parse_part(ids.Kind.ITEM, item_id)
        if step is not None:  # it need not be the step of its row
            where, key = "i.turn_id = (SELECT s.turn_id FROM agents_step s WHERE s.id = %s)", step
        elif row is not None:
            where, key = "i.id = %s", row
        else:
            return None
        numbers = [number for part in self.parts for (number,) in part.select("i.number", where, [key])]
        return (max if newest_first else min)(numbers, default=None)


@dataclass(frozen=True, slots=True)
class _Part:
    where: str
    params: tuple[int, ...]
    head: str = ""

    def select(self, columns: str, condition: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        with direct_cursor() as cursor:
            cursor.execute(f"{self.head} SELECT {columns} {self.where} AND {condition}", [*self.params, *params])
            return list(cursor.fetchall())

    def walk(self, newest_first: bool, start: int | None, at_once: int) -> Iterator[ItemSnapshot]:
        comparison, order = ("<=", "DESC") if newest_first else (">=", "ASC")
        at = start if start is not None else _HIGHEST if newest_first else 0
        while True:
            condition = f"i.number {comparison} %s ORDER BY i.number {order} LIMIT {at_once}"
            sized: list[Sized[int]] = self.select("i.number, LENGTH(i.body) + LENGTH(i.wire)", condition, [at])
            for numbers in portions.groups(sized):
                first, last = sorted((numbers[0], numbers[-1]))
                condition = f"i.number >= %s AND i.number <= %s ORDER BY i.number {order}"
                yield from _items([_row(row) for row in self.select(_ROW, condition, [first, last])])
            if len(sized) < at_once:
                return
            at = sized[-1][0] + (-1 if newest_first else 1)


class ResponseItemRange(Protocol):
    """The fields of a response that locate its input and history among the items of its session."""

    @property
    def key(self) -> int: ...
    @property
    def turn(self) -> int: ...
    @property
    def session(self) -> int: ...
    @property
    def first_item(self) -> int: ...
    @property
    def input_items(self) -> int: ...
    @property
    def branched(self) -> bool: ...
    @property
    def previous(self) -> int | None: ...


def of_session(session: int) -> ItemQuery:
    """Build the query for all visible items of a session."""
    where = f"FROM agents_item i WHERE i.session_id = %s AND NOT i.hidden AND {_ON_TRUNK}"
    return ItemQuery((_Part(where, (session, session)),))


def input_of(record: ResponseItemRange) -> ItemQuery:
    """Build the query for the whole input of a response: its history, and its own items."""
    own = "FROM agents_item i WHERE i.turn_id = %s AND i.number >= %s AND i.number < %s"
    mine = _Part(own, (record.turn, record.first_item, record.first_item + record.input_items))
    if not record.branched:
        where = f"FROM agents_item i WHERE i.session_id = %s AND i.number < {_END} AND NOT i.hidden AND {_ON_TRUNK}"
        before = _Part(where, (record.session, record.turn, record.first_item, record.session))
        return ItemQuery((before, mine))
    if record.previous is None:
        return ItemQuery((mine,))
    return ItemQuery((_Part(history.ON_PATH, (record.previous, record.previous), history.PATH), mine))


def up_to(record: ResponseItemRange) -> ItemQuery:
    """Build the query for all items up to the end of a response."""
    return ItemQuery((_Part(history.ON_PATH, (record.key, record.key), history.PATH),))


def near(actor: Actor, item_id: str) -> list[ItemSnapshot]:
    """Return the items among which the item of a public id is, if the actor may see them. The id of an item that a
    turn made names one of its steps, which need not be that of its row."""
    step, row = ids.parse_part(ids.Kind.STEP, item_id), ids.parse_part(ids.Kind.ITEM, item_id)
    if step is not None:
        turn = Step.objects.visible_to(actor, "run").filter(pk=step).values_list("turn_id", flat=True).first()
        return list(_items(_rows("FROM agents_item i WHERE i.turn_id = %s AND NOT i.hidden", [turn]))) if turn else []
    if row is None:
        return []
    session = Item.objects.unscoped("its session is looked at").filter(pk=row).values("session_id")
    if not Session.objects.visible_to(actor, "run").filter(pk__in=session).exists():
        return []
    return list(_items(_rows("FROM agents_item i WHERE i.id = %s AND NOT i.hidden", [row])))


def own_inputs(records: Sequence[ResponseItemRange]) -> dict[int, list[ItemSnapshot]]:
    """Return the own input items of these responses, by their keys. One query for all rows."""
    if not records:
        return {}
    own = "(i.turn_id = %s AND i.number >= %s AND i.number < %s)"
    where = f"FROM agents_item i WHERE {' OR '.join([own] * len(records))}"
    bounds = [(item.turn, item.first_item, item.first_item + item.input_items) for item in records]
    rows = _rows(where, [number for bound in bounds for number in bound])
    values_of = dict(zip([row.key for row in rows], _items(rows), strict=True))
    return {
        record.key: [values_of[row.key] for row in rows if row.turn == turn and first <= row.number < end]
        for record, (turn, first, end) in zip(records, bounds, strict=True)
    }


def _rows(where: str, params: Sequence[int]) -> list[_Row]:
    with direct_cursor() as cursor:
        cursor.execute(f"SELECT {_ROW} {where} ORDER BY i.number", list(params))
        return [_row(row) for row in cursor.fetchall()]


def _row(row: tuple[Any, ...]) -> _Row:
    key, turn, step, number, body, wire = row
    return _Row(key, turn, step, number, bytes(body), bytes(wire))


def _items(rows: Sequence[_Row]) -> Iterator[ItemSnapshot]:
    """Add to each row its step, and to a model's message the client's calls of its round."""
    step_turns = {row.step: row.turn for row in rows if row.turn is not None and row.step is not None and not row.wire}
    steps_by_turn, details = read_turns.partial_steps(set(step_turns.values()), client_calls_and=list(step_turns))
    steps = {step.key: step for turn_steps in steps_by_turn.values() for step in turn_steps}
    calls: dict[tuple[int, int], list[StepSnapshot]] = {}
    for turn, turn_steps in steps_by_turn.items():
        for step in turn_steps:
            if not step.server_side:
                calls.setdefault((turn, step.round), []).append(step)
    for row in rows:
        origin = steps.get(row.step or 0)
        if origin is None:
            yield ItemSnapshot(row.key, row.body, row.wire)
            continue
        client_calls = calls.get((row.turn or 0, origin.round), ()) if origin.type == "inference" else ()
        yield ItemSnapshot(row.key, row.body, row.wire, details.load(origin), tuple(map(details.load, client_calls)))
