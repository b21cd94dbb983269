"""Read the columns from the rows, for sealing and for the tail alike. The rows of the tables below turns are
in the order of their turns; their ``turn`` is the index of the turn in the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import BigIntegerField, Case, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Coalesce

from agents.logs.store.numbers.columns import NULL, Array, Column, coded, plain, ragged
from agents.logs.store.numbers.layouts import CHILDREN, LAYOUTS, RAGGED, Table
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Step, Turn

REASONS = (
    "",
    "end_of_turn",
    "end_of_message",
    "out_of_tokens",
    "violation",
    "max_infer_iters",
    "input_timeout",
    "decision_timeout",
)
"""The stop reasons of turns by number; all others are `OTHER_REASON`. Only ever add at the end."""
OTHER_REASON = 255
BATCH_ROWS = 5_000
"""Rows read at once: as Python's numbers they are ten times as large as in a column."""

TurnFilter = Callable[[str], Q]
"""Selects the turns to read: returns a condition on the column (``pk``, ``turn_id``) that refers to them."""


def within(low: int, high: int) -> TurnFilter:
    """Select the turns whose keys are above ``low`` and up to ``high``."""
    return lambda column: Q(**{f"{column}__gt": low, f"{column}__lte": high})


def read(turns: TurnFilter, names: Iterable[str]) -> dict[str, Column]:
    """Read columns of the selected turns, and of the rows below them. ``turn.id`` is always included."""
    requested = set(names)
    rows = Turn.objects.unscoped("masked by who may see").filter(turns("pk")).order_by("pk")
    result = columns("turn", rows, sorted(_fields_of("turn", requested) | {"id"}))
    keys = result["turn.id"].ints  # type: ignore[union-attr]  # ids have one value a row: never Ragged
    for table in CHILDREN:
        if own := _fields_of(table, requested):
            result |= _children(table, turns, keys, sorted(own - {"turn"}))
    if "turn.tools" in requested:
        steps = Step.objects.unscoped("masked by who may see").filter(turns("turn_id"), tool__isnull=False)
        result["turn.tools"] = _pairs(keys, steps.values_list("turn_id", "tool_id").distinct())
    if "turn.terms" in requested:
        turn_tags = TurnTag.objects.filter(turns("turn_id"))
        result["turn.terms"] = _pairs(keys, turn_tags.values_list("turn_id", "term_id"))
    return result


def _fields_of(table: Table, names: set[str]) -> set[str]:
    return {name.partition(".")[2] for name in names - RAGGED if name.startswith(f"{table}.")}


def _children(table: Table, turns: TurnFilter, keys: Array, names: Sequence[str]) -> dict[str, Column]:
    model: Any = LAYOUTS[table].model
    rows = model.objects.unscoped("masked by who may see").filter(turns("turn_id")).order_by("turn_id")
    result = columns(table, rows, [*names, "turn_id"])
    owners = result.pop(f"{table}.turn_id")
    return {**result, f"{table}.turn": plain(np.searchsorted(keys, owners.ints))}  # type: ignore[union-attr]  # owners are ids, too: never Ragged


def columns(table: Table, rows: QuerySet[Any, Any], names: Sequence[str]) -> dict[str, Column]:
    """Read columns of rows of a table, by ``<table>.<name>``."""
    # past the conversions of each value by Django, which take as long as the query: these are all whole numbers
    compiler = rows.values_list(*map(_integer, names)).query.get_compiler("default")
    batches = compiler.execute_sql(chunked_fetch=True, chunk_size=BATCH_ROWS)
    row_values = (row[: len(names)] for row in chain.from_iterable(batches))
    flat = np.fromiter(chain.from_iterable(row_values), dtype=np.int64)
    coded_names = LAYOUTS[table].coded
    pairs = zip(names, flat.reshape(-1, len(names)).T, strict=True)
    return {
        f"{table}.{name}": coded(numbers) if name in coded_names else plain(numbers.copy()) for name, numbers in pairs
    }


def _integer(name: str) -> Any:
    """Return the expression of a field as a whole number, without its conversion to Python."""
    integer = BigIntegerField()
    if name == "stop_reason":
        cases = [When(stop_reason=reason, then=Value(index)) for index, reason in enumerate(REASONS)]
        return Case(*cases, default=Value(OTHER_REASON), output_field=integer)
    column: Any = Cast(name, IntegerField()) if name in ("server_side", "violation") else F(name)
    return Coalesce(column, Value(NULL, integer), output_field=integer)


def _pairs(keys: Array, rows: QuerySet[Any, Any]) -> Column:
    """Build a ragged column from (turn, value) pairs."""
    numbers = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    numbers[:, 0] = np.searchsorted(keys, numbers[:, 0])
    return ragged(len(keys), numbers)
