"""Build the terms that several levels share: names, ids, tags and metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from agents.base import ids
from agents.base.models.terms import Term, TermKind
from agents.base.store.terms import MAX_LENGTH
from agents.base.tokenizer import fold
from agents.logs.store.conditions import EVERYTHING, keys_of_id, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.query.tree import EVERY_ITEM, ExactValue, FieldTerm, Pattern

TermFunction = Callable[[FieldTerm, QueryContext], Q]
Terms = dict[str, TermFunction]


def without_context(term: Callable[[FieldTerm], Q]) -> TermFunction:
    """Build a term that does not depend on the context of the query."""
    return lambda node, context: term(node)


def by_id(kind: ids.Kind) -> TermFunction:
    """Build the term on the id of the row itself."""

    def term(node: FieldTerm, context: QueryContext) -> Q:
        same = Q(pk__in=keys_of_id(kind, node.value))
        return ~same if node.op == "!=" else same

    return term


def tag_term(tags: Any, column: str, kind: TermKind, start: Callable[[FieldTerm], str]) -> TermFunction:
    """Build the term on a tag, or a pair of the metadata, by a table of tags of these rows. ``start`` returns
    the prefix of all texts that the term can match."""

    def having(numbers: Any) -> Q:
        return Q(Exists(tags.objects.filter(**{column: OuterRef("pk"), "term_id__in": numbers})))

    def term(node: FieldTerm, context: QueryContext) -> Q:
        prefix = start(node)
        present = having(Term.objects.filter(_under(kind, prefix)).values("pk"))
        if node.op == "has":
            return present
        matching = having(matching_terms(kind, prefix, node))
        return matching if node.op != "!=" else present & ~matching

    return term


def _under(kind: TermKind, prefix: str) -> Q:
    """Build the condition on interned texts that are values at a path, or inside it."""
    return starting_with(kind, prefix) | starting_with(kind, f"{prefix[:-1]}.") if prefix else Q(kind=int(kind))


def starting_with(kind: TermKind, prefix: str) -> Q:
    """Build the condition on interned texts that start with a prefix."""
    if not prefix:
        return Q(kind=int(kind))
    if connection.vendor == "sqlite":  # LIKE would read them all: its case counts for nothing
        return Q(kind=int(kind), value__gte=prefix, value__lt=prefix[:-1] + chr(ord(prefix[-1]) + 1))
    return Q(kind=int(kind), value__startswith=prefix)


def matching_terms(kind: TermKind, prefix: str, node: FieldTerm) -> list[int]:
    """Return the keys of the interned texts with a prefix that a term matches."""
    value = node.value
    if isinstance(value, ExactValue):
        full_text = (prefix + value.text)[:MAX_LENGTH]
        rows = Term.objects.filter(kind=int(kind), folded=fold(full_text)[:1000])
        return [key for key, text in rows.values_list("pk", "value") if text.startswith(prefix)]
    rows = Term.objects.filter(starting_with(kind, prefix))
    return [key for key, text in rows.values_list("pk", "value") if value_matches(value, text[len(prefix) :])]


def metadata_prefix(node: FieldTerm) -> str:
    """Return the prefix of the pairs at a path of the metadata, as `agents.record.store.tags` writes them."""
    return ".".join(_step(step) for step in node.path) + "="


def _step(step: str | int) -> str:
    return step if isinstance(step, str) else "[*]" if step == EVERY_ITEM else f"[{step}]"


def has(column: str) -> Q:
    return Q(**{f"{column}__isnull": False})


def mask_term(column: str, choices: dict[str, int]) -> TermFunction:
    """Build the term on a set of choices that is stored as the bits of a number."""

    def with_bits(names: list[str]) -> Q:
        numbers = [n for n in range(1 << len(choices)) if any(n & choices[name] for name in names)]
        return Q(**{f"{column}__in": numbers})

    def term(node: FieldTerm, context: QueryContext) -> Q:
        matching = with_bits([name for name in choices if value_matches(node.value, name)])
        return matching if node.op != "!=" else ~matching & with_bits(list(choices))

    return term


def folded_equals(column: str, value: Any) -> Q:
    """Build the condition on a column of folded texts, compared as complete values."""
    match value:
        case ExactValue(text=text):
            return Q(**{column: fold(text)})
        case Pattern(parts=parts):
            return Q(**{f"{column}__regex": f"(?s)^{'.*'.join(re.escape(fold(part)) for part in parts)}$"})
        case _:
            return ~Q(**{column: ""})


def code_term(column: str) -> TermFunction:
    """Build the term on a column of the server's own codes, in lower-case ASCII."""

    def term(node: FieldTerm, context: QueryContext) -> Q:
        present, same = ~Q(**{column: ""}), folded_equals(column, node.value)
        return present & ~same if node.op == "!=" else present & same

    return term


def everything(node: FieldTerm, context: QueryContext) -> Q:
    return EVERYTHING
