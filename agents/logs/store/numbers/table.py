"""Which columns there are, and how they are read from the rows: the same for what is sealed and what
is not.

Columns are named ``<table>.<field>``, the field as the model calls it. The rows of the tables below
turns lie in the order of their turns; ``turn`` of theirs is the place of the turn in the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from django.db.models import BigIntegerField, Case, F, IntegerField, Model, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Coalesce

from agents.logs.store.numbers.columns import NULL, Array, Column, coded, plain, ragged
from agents.record.models.agents import Session
from agents.record.models.tags import TurnTag
from agents.record.models.turns import Response, Step, Turn

Table = Literal["session", "turn", "step", "response"]
REASONS = ("", "end_of_turn", "end_of_message", "out_of_tokens", "violation", "max_infer_iters", "input_timeout")
"""Why turns stop, by number; others are `OTHER_REASON`. Only ever add at the end."""
OTHER_REASON = 255
ROWS = 5_000
"""Read at once: as Python's numbers they are ten times as large as in a column."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A table's columns: those with few different values, and the others."""

    model: type[Model]
    coded: frozenset[str]
    plain: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.coded or name in self.plain


def _layout(model: type[Model], few: str, many: str) -> Layout:
    return Layout(model, frozenset(few.split()), frozenset(many.split()))


_TOKENS = "input_tokens output_tokens cached_tokens reasoning_tokens"
_TIMES = "started_at completed_at duration_us ttft_us"
LAYOUTS: dict[Table, Layout] = {
    "turn": _layout(
        Turn,
        "agent_id owner_id scope_id api source status model_id provider_id end_user_id error_type_id actor_key "
        "step_types leg_count stop_reason",
        f"id session_id {_TIMES} {_TOKENS} cost_nano step_count tool_count error_count violation_count",
    ),
    "step": _layout(
        Step,
        "type kind_id tool_id model_id status server_side violation error_type_id finish_id",
        f"id {_TIMES} {_TOKENS} cost_nano",
    ),
    "response": _layout(Response, "api model_id status", f"id created_at completed_at {_TOKENS}"),
    "session": _layout(
        Session, "agent_id api source status", "id created_at turn_count input_tokens output_tokens cost_nano"
    ),
}
SEALED: tuple[Table, ...] = ("turn", "step", "response")
RAGGED = frozenset({"turn.tools", "turn.terms"})
"""The tools a turn called; its tags and the pairs of its metadata."""
CHILDREN: tuple[Table, ...] = ("step", "response")
EVERY = frozenset(
    {f"{table}.{name}" for table in SEALED for name in LAYOUTS[table].coded | LAYOUTS[table].plain}
    | {f"{table}.turn" for table in CHILDREN}
    | RAGGED
)
"""All columns: what is sealed."""


Which = Callable[[str], Q]
"""Turns to read: the condition on the column (``pk``, ``turn_id``) that names them."""


def within(low: int, high: int) -> Which:
    """The turns whose keys lie above ``low`` and up to ``high``."""
    return lambda column: Q(**{f"{column}__gt": low, f"{column}__lte": high})


def read(turns: Which, names: Iterable[str]) -> dict[str, Column]:
    """These columns of the turns chosen, and of the rows below them. ``turn.id`` comes along."""
    wanted = set(names)
    rows = Turn.objects.unscoped("masked by who may see").filter(turns("pk")).order_by("pk")
    out = columns("turn", rows, sorted(_own("turn", wanted) | {"id"}))
    keys = out["turn.id"].ints  # type: ignore[union-attr]  # ids have one value a row: never Ragged
    for table in CHILDREN:
        if own := _own(table, wanted):
            out |= _children(table, turns, keys, sorted(own - {"turn"}))
    if "turn.tools" in wanted:
        steps = Step.objects.unscoped("masked by who may see").filter(turns("turn_id"), tool__isnull=False)
        out["turn.tools"] = _pairs(keys, steps.values_list("turn_id", "tool_id").distinct())
    if "turn.terms" in wanted:
        held = TurnTag.objects.filter(turns("turn_id"))
        out["turn.terms"] = _pairs(keys, held.values_list("turn_id", "term_id"))
    return out


def _own(table: Table, names: set[str]) -> set[str]:
    return {name.partition(".")[2] for name in names - RAGGED if name.startswith(f"{table}.")}


def _children(table: Table, turns: Which, keys: Array, names: Sequence[str]) -> dict[str, Column]:
    model: Any = LAYOUTS[table].model
    rows = model.objects.unscoped("masked by who may see").filter(turns("turn_id")).order_by("turn_id")
    out = columns(table, rows, [*names, "turn_id"])
    owners = out.pop(f"{table}.turn_id")
    return {**out, f"{table}.turn": plain(np.searchsorted(keys, owners.ints))}  # type: ignore[union-attr]  # owners are ids, too: never Ragged


def columns(table: Table, rows: QuerySet[Any, Any], names: Sequence[str]) -> dict[str, Column]:
    """These columns of rows of a table, by ``<table>.<name>``."""
    found = rows.values_list(*map(_number, names)).iterator(chunk_size=ROWS)
    flat = np.fromiter(chain.from_iterable(found), dtype=np.int64)
    few = LAYOUTS[table].coded
    pairs = zip(names, flat.reshape(-1, len(names)).T, strict=True)
    return {f"{table}.{name}": coded(numbers) if name in few else plain(numbers.copy()) for name, numbers in pairs}


def _number(name: str) -> Any:
    """A field as a whole number, without what it makes of it in Python."""
    whole = BigIntegerField()
    if name == "stop_reason":
        known = [When(stop_reason=reason, then=Value(place)) for place, reason in enumerate(REASONS)]
        return Case(*known, default=Value(OTHER_REASON), output_field=whole)
    column: Any = Cast(name, IntegerField()) if name in ("server_side", "violation") else F(name)
    return Coalesce(column, Value(NULL, whole), output_field=whole)


def _pairs(keys: Array, rows: QuerySet[Any, Any]) -> Column:
    """Of (turn, value) pairs."""
    numbers = np.array(list(rows), dtype=np.int64).reshape(-1, 2)
    numbers[:, 0] = np.searchsorted(keys, numbers[:, 0])
    return ragged(len(keys), numbers)
