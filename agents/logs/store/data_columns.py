"""Columns of exports that are values inside the JSON of tools and of metadata, named as in queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.errors import InvalidRequest, QuerySyntax
from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.store.levels import json_values
from agents.query import comparison, parser
from agents.query.tree import FieldTerm, Level
from agents.record.models.choices import StepType
from agents.record.models.turns import TurnBody

Row = TurnRow | SessionRow | StepRow | ResponseRow
MAX_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class DataColumn:
    """The value at ``path`` of the arguments of a call (``args``), its ``result``, or the metadata (``meta``)."""

    name: str
    source: str
    path: tuple[str | int, ...]

    def value_in(self, data: Any) -> Any:
        """Return the value, a list where there are several; None where there is none."""
        values = comparison.values_at(data, self.path)
        if not values and self.source == "meta" and isinstance(data, Mapping):
            return data.get(self.name.partition(".")[2])  # a name may have dots itself
        return values[0] if len(values) == 1 else values or None


def sources(level: Level) -> tuple[str, ...]:
    """Return the names that the data columns of a level begin with."""
    return ("meta", *json_values.PARTS) if level == "step" else ("meta",)


def read(level: Level, names: Iterable[str]) -> list[DataColumn]:
    """Return those of these names that are data columns. Raises InvalidRequest for a path that is none, and for too
    many of them."""
    columns = [_column(level, name) for name in dict.fromkeys(names) if name.partition(".")[0] in sources(level)]
    if len(columns) > MAX_COLUMNS:
        raise InvalidRequest(f"fields: at most {MAX_COLUMNS} of args, result and meta.", param="fields")
    return columns


def _column(level: Level, name: str) -> DataColumn:
    try:
        term = parser.read(f"has:{name}", now_us=ids.now_us(), level=level).tree
    except QuerySyntax as error:
        raise InvalidRequest(f"fields: '{name[:80]}': {error.message}", param="fields") from error
    if not isinstance(term, FieldTerm) or term.op != "has":
        raise InvalidRequest(f"fields: '{name[:80]}' is not one path.", param="fields")
    return DataColumn(name, term.field, term.path)


def values(level: Level, rows: Sequence[Row], columns: Sequence[DataColumn]) -> list[dict[str, Any]]:
    """Return the values of these columns for each row, by their names."""
    cells: list[dict[str, Any]] = [dict.fromkeys(column.name for column in columns) for _ in rows]
    if of_metadata := [column for column in columns if column.source == "meta"]:
        for row_cells, metadata in zip(cells, _metadata(rows), strict=True):
            row_cells.update({column.name: column.value_in(metadata) for column in of_metadata})
    if of_tools := [column for column in columns if column.source in json_values.PARTS]:
        _add_tool_values(rows, of_tools, cells)
    return cells


def _metadata(rows: Sequence[Row]) -> list[Any]:
    """Return the metadata of each row: of a step or a response that of its turn."""
    turns = {row.turn_id for row in rows if isinstance(row, StepRow | ResponseRow)}
    bodies = TurnBody.objects.unscoped("ids checked").filter(turn_id__in=turns).values_list("turn_id", "metadata")
    by_turn = dict(bodies) if turns else {}
    return [row.metadata if isinstance(row, TurnRow | SessionRow) else by_turn.get(row.turn_id) for row in rows]


def _add_tool_values(rows: Sequence[Row], columns: Sequence[DataColumn], cells: Sequence[dict[str, Any]]) -> None:
    tool = StepType.TOOL_EXECUTION.label
    positions = {row.id: n for n, row in enumerate(rows) if isinstance(row, StepRow) and row.type == tool}
    for key, detail in json_values.details(list(positions)):
        data: dict[str, Any] = {part: json_values.value_of(part, detail) for part in json_values.PARTS}
        cells[positions[key]].update({column.name: column.value_in(data[column.source]) for column in columns})
