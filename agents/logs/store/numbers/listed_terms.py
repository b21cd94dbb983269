"""Select, of the interned strings that a turn may have any number of, those of one field: tags, versions of prompts,
the values at one path of its metadata."""

from __future__ import annotations

import numpy as np
from django.db.models import Q

from agents.base.models.terms import Term, TermKind
from agents.logs.store.levels.shared_terms import starting_with
from agents.logs.store.numbers.columns import Array, Ragged

META = "meta."


def meta_start(field: str) -> str:
    """Return how the strings of a field begin that is the value at a path of the metadata; empty for other fields."""
    if field == "env":
        return "env="
    return f"{field.removeprefix(META)}=" if field.startswith(META) else ""


def keys_of(field: str) -> Array | None:
    """Return the keys of the strings that are values of the field; None where all of a column are."""
    condition = _condition(field)
    if condition is None:
        return None
    return np.array(list(Term.objects.filter(condition).values_list("pk", flat=True)), dtype=np.int64)


def _condition(field: str) -> Q | None:
    if start := meta_start(field):
        return starting_with(TermKind.META, start)
    match field:
        case "tag":
            return Q(kind=int(TermKind.TAG))
        case "prompt":  # one has a string for its id as well, whatever the version
            return Q(kind=int(TermKind.PROMPT), value__contains="@")
        case _:
            return None


def of_field(column: Ragged, listed: Array | None) -> tuple[Array, Array]:
    """Return (the row of each value, its index in the values of the column), of these values alone."""
    owners, codes = column.rows, column.codes
    if listed is None:
        return owners, codes
    is_listed = np.isin(column.values, listed)[codes]
    return owners[is_listed], codes[is_listed]
