"""Define the columns that numbers are computed from, by table.

Columns are named ``<table>.<field>``, the field as in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.db.models import Model

from agents.record.catalogue import CATALOGUE
from agents.record.models.agents import Session
from agents.record.models.turns import Response, Step, Turn

Table = Literal["session", "turn", "step", "response"]


@dataclass(frozen=True, slots=True)
class Layout:
    """A table's columns: ``coded`` have few different values, ``plain`` are the others."""

    model: type[Model]
    coded: frozenset[str]
    plain: frozenset[str]

    def __contains__(self, name: str) -> bool:
        return name in self.coded or name in self.plain


def _layout(table: Table, model: type[Model], coded: str = "", plain: str = "") -> Layout:
    """Build the layout of a table: the columns of its fields in the catalogue, and more."""
    few, many = set(coded.split()), {"id", *plain.split()}
    for entry in CATALOGUE.values():
        if column := entry.columns.get(table):
            (many if entry.kind in ("number", "time", "id") else few).update(column.split("+"))
    return Layout(model, frozenset(few), frozenset(many))


LAYOUTS: dict[Table, Layout] = {
    "turn": _layout(
        "turn",
        Turn,
        coded="owner_id scope_id step_types leg_count",
        plain="session_id step_count tool_count error_count violation_count",
    ),
    "step": _layout("step", Step),
    "response": _layout("response", Response),
    "session": _layout("session", Session, coded="status", plain="turn_count"),
}
SEALED: tuple[Table, ...] = ("turn", "step", "response")
RAGGED = frozenset({"turn.tools", "turn.terms"})
"""The tools a turn called; its tags and the pairs of its metadata."""
CHILDREN: tuple[Table, ...] = ("step", "response")
ALL_COLUMNS = frozenset(
    {f"{table}.{name}" for table in SEALED for name in LAYOUTS[table].coded | LAYOUTS[table].plain}
    | {f"{table}.turn" for table in CHILDREN}
    | RAGGED
)
"""All columns of sealed segments."""
