"""Build the terms of fields that a column of the level's own rows holds, from the catalogue and the models."""

from __future__ import annotations

from typing import Any

from django.db.models import CharField, F, Field, ForeignKey, Q

from agents.base import ids
from agents.base.models.terms import TermKind
from agents.logs.store.conditions import EVERYTHING, amount, chosen, interned_name, timestamp
from agents.logs.store.levels.relations import MODELS
from agents.logs.store.levels.shared_terms import TermFunction, Terms, by_id, code_term, without_context
from agents.query.tree import FieldTerm, Flag, Level
from agents.record.catalogue import CATALOGUE, RecordField


def stored_terms(level: Level) -> Terms:
    """Return the terms of the level's fields, by name. Fields without a column, and texts, which are searched in an
    index, are left out: their terms are written by hand."""
    return {
        entry.name: _term(entry, level)
        for entry in CATALOGUE.values()
        if level in entry.levels and level in entry.columns and entry.kind != "text"
    }


def _term(entry: RecordField, level: Level) -> TermFunction:
    column = entry.columns[level]
    match entry.kind:
        case "id":
            return by_id(ids.Kind[level.upper()])
        case "number":
            return without_context(_amount(column, level))
        case "time":
            return without_context(timestamp(column))
        case "flag":
            return _flag(column)
        case _:
            return _choice(entry, column, stored_column(level, column))


def _amount(column: str, level: Level) -> Any:
    """Build the term on a number, or on a sum of numbers, none of which may be null then."""
    first, *others = column.split("+")
    if others:
        return amount(sum((F(name) for name in others), F(first)))
    return amount(F(first), first if stored_column(level, first).null else None)


def _flag(column: str) -> TermFunction:
    def term(node: FieldTerm, context: object) -> Q:
        return Q(**{column: node.value.value}) if isinstance(node.value, Flag) else EVERYTHING

    return term


def _choice(entry: RecordField, column: str, stored: Field[Any, Any]) -> TermFunction:
    """Build the term on one of few values: interned texts are of the kind that is called like the field."""
    if isinstance(stored, ForeignKey):
        return without_context(interned_name(_TERM_KINDS[entry.name], column))
    if isinstance(stored, CharField):
        return code_term(column)
    labels = labels_of(stored).items()
    choices = [(value, label) for value, label in labels if not entry.choices or label in entry.choices]
    return without_context(chosen(column, choices))


_TERM_KINDS = {kind.label: kind for kind in TermKind}


def stored_column(level: Level, name: str) -> Field[Any, Any]:
    """Return the model's field of a column."""
    return next(stored for stored in MODELS[level]._meta.concrete_fields if stored.attname == name)


def labels_of(stored: Field[Any, Any]) -> dict[int, str]:
    """Return the labels of a column of choices by their numbers; none of other columns."""
    choices: Any = stored.choices or ()  # the stubs know groups of choices, too
    return dict(choices)
