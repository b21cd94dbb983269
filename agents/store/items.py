"""The items of a session as rows, in order, each with the step it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.sql import columns
from agents.record.models.agents import Session
from agents.record.models.turns import Item, Step
from agents.record.schemas.turns import ItemValue, StepValue
from agents.record.store import history
from agents.responses.store.responses import ResponseRecord
from agents.store import values

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


def of_session(session: int) -> list[ItemValue]:
    """All visible items of a session, in order."""
    where = f"FROM agents_item i WHERE i.session_id = %s AND NOT i.hidden AND {_ON_TRUNK}"
    return _items(_rows(where, [session, session]))


def input_of(record: ResponseRecord) -> list[ItemValue]:
    """The whole input of a response: what was said before it, and its own."""
    return [*before(record), *own_inputs([record])[record.key]]


def before(record: ResponseRecord) -> list[ItemValue]:
    """What was said before a response, in order."""
    if not record.branched:
        where = f"FROM agents_item i WHERE i.session_id = %s AND i.number < {_END} AND NOT i.hidden AND {_ON_TRUNK}"
        return _items(_rows(where, [record.session, record.turn, record.first_item, record.session]))
    if record.previous is None:
        return []
    return _items(_rows(history.ON_PATH, [record.previous, record.previous], head=history.PATH))


def upto(record: ResponseRecord) -> list[ItemValue]:
    """Everything that was said up to the end of a response, in order."""
    return _items(_rows(history.ON_PATH, [record.key, record.key], head=history.PATH))


def near(actor: Actor, item_id: str) -> list[ItemValue]:
    """The rows among which an item is, by its public id; none that the actor may not see. An item that a
    turn made is named by one of its steps, which need not be that of its row."""
    step, row = ids.parse_part(ids.Kind.STEP, item_id), ids.parse_part(ids.Kind.ITEM, item_id)
    if step is not None:
        turn = Step.objects.visible_to(actor, "run").filter(pk=step).values_list("turn_id", flat=True).first()
        return _items(_rows("FROM agents_item i WHERE i.turn_id = %s AND NOT i.hidden", [turn])) if turn else []
    if row is None:
        return []
    session = Item.objects.unscoped("its session is looked at").filter(pk=row).values("session_id")
    if not Session.objects.visible_to(actor, "run").filter(pk__in=session).exists():
        return []
    return _items(_rows("FROM agents_item i WHERE i.id = %s AND NOT i.hidden", [row]))


def own_inputs(records: Sequence[ResponseRecord]) -> dict[int, list[ItemValue]]:
    """What these responses were asked with, by their keys: one query for the rows of all."""
    if not records:
        return {}
    own = "(i.turn_id = %s AND i.number >= %s AND i.number < %s)"
    where = f"FROM agents_item i WHERE {' OR '.join([own] * len(records))}"
    bounds = [(one.turn, one.first_item, one.first_item + one.input_items) for one in records]
    rows = _rows(where, [number for bound in bounds for number in bound])
    values_of = dict(zip([row.key for row in rows], _items(rows), strict=True))
    return {
        record.key: [values_of[row.key] for row in rows if row.turn == turn and first <= row.number < end]
        for record, (turn, first, end) in zip(records, bounds, strict=True)
    }


def _rows(where: str, params: Sequence[int], head: str = "") -> list[_Row]:
    with connection.cursor() as cursor:
        cursor.execute(f"{head} SELECT {_ROW} {where} ORDER BY i.number", list(params))
        return [
            _Row(key, turn, step, number, bytes(body), bytes(wire))
            for key, turn, step, number, body, wire in cursor.fetchall()
        ]


def _items(rows: Sequence[_Row]) -> list[ItemValue]:
    """Rows with their steps, and those of a model's message with the client's calls of its round."""
    found = values.steps_of({row.turn for row in rows if row.turn is not None and not row.wire})
    steps = {step.key: step for some in found.values() for step in some}
    calls: dict[tuple[int, int], list[StepValue]] = {}
    for turn, some in found.items():
        for step in some:
            if not step.server_side:
                calls.setdefault((turn, step.round), []).append(step)
    return [_item(row, steps.get(row.step or 0), calls) for row in rows]


def _item(row: _Row, step: StepValue | None, calls: dict[tuple[int, int], list[StepValue]]) -> ItemValue:
    asked = step is not None and row.turn is not None and step.type == "inference"
    own = calls.get((row.turn or 0, step.round), ()) if asked and step else ()
    return ItemValue(row.key, row.body, row.wire, step, tuple(own))
