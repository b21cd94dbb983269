"""Filters of a search as SQL: the chunks of a database that one lets through.

Chunks of a file have the attributes of that file; all others have what of their own metadata are texts, numbers and
booleans. Names and values are parameters only. Kinds are not mixed: a truth is no number, a number no text. Texts are
ordered by their code points on both databases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from agents.base.models.fields import storable
from agents.knowledge.schemas.filters import AttributeComparison, CompoundFilter, Filter, Scalar, kind_of

_ORDERS = {"eq": "=", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_OPPOSITES = {"ne": "eq", "nin": "in"}


@dataclass(frozen=True, slots=True)
class Selection:
    """A query for keys of chunks, with its parameters."""

    sql: str
    values: Sequence[Any]


def chunks_matching(db: int, wanted: Filter) -> Selection:
    """Return the chunks of a database that a filter lets through. What a document has not is equal to nothing, and
    neither more nor less: only ``ne`` and ``nin`` hold of it."""
    of_files, file_values = _condition(wanted, "document.metadata")
    of_chunks, chunk_values = _condition(wanted, "chunk.metadata")
    sql = (
        "SELECT chunk.id FROM agents_chunk AS chunk WHERE chunk.document_id IN "  # noqa: S608 - constants and marks
        "(SELECT document.id FROM agents_vectordocument AS document "
        f"WHERE document.vector_db_id = %s AND document.file_id IS NOT NULL AND {of_files}) "
        "UNION ALL SELECT chunk.id FROM agents_chunk AS chunk WHERE chunk.document_id IN "
        "(SELECT document.id FROM agents_vectordocument AS document "
        f"WHERE document.vector_db_id = %s AND document.file_id IS NULL) AND {of_chunks}"
    )
    return Selection(sql, [db, *file_values, db, *chunk_values])


def _condition(wanted: Filter, column: str) -> tuple[str, list[Any]]:
    if isinstance(wanted, AttributeComparison):
        return _comparison(wanted, column)
    return _compound(wanted, column)


def _compound(wanted: CompoundFilter, column: str) -> tuple[str, list[Any]]:
    if not wanted.filters:
        return ("1 = 1" if wanted.type == "and" else "1 = 0"), []
    conditions, values = zip(*(_condition(nested, column) for nested in wanted.filters), strict=True)
    return _joined(conditions, f" {wanted.type.upper()} "), [value for some in values for value in some]


def _joined(conditions: Sequence[str], word: str) -> str:
    """Join conditions in halves: SQLite takes a limited depth of them only."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return f"({_joined(conditions[:middle], word)}{word}{_joined(conditions[middle:], word)})"


def _comparison(wanted: AttributeComparison, column: str) -> tuple[str, list[Any]]:
    kind = _OPPOSITES.get(wanted.type, wanted.type)
    test = _sqlite_test if connection.vendor == "sqlite" else _postgresql_test
    condition, values = test(kind, column, storable(wanted.key), wanted.value)
    return (f"NOT {condition}" if kind != wanted.type else condition), values


# ----------------------------------------------------------------------------------------------- SQLite

_TYPES = {"text": "('text')", "number": "('integer', 'real')"}


def _sqlite_test(kind: str, column: str, key: str, value: Any) -> tuple[str, list[Any]]:
    if kind == "in":
        tests = [_sqlite_member(of_kind, value) for of_kind in ("text", "number", "truth")]
        condition, values = " OR ".join(test for test, _ in tests), [item for _, some in tests for item in some]
    else:
        condition, values = _sqlite_order(_ORDERS[kind], value)
    return f"EXISTS (SELECT 1 FROM json_each({column}) AS item WHERE item.key = %s AND ({condition}))", [key, *values]  # noqa: S608 - constants and marks


def _sqlite_order(operator: str, value: Scalar) -> tuple[str, list[Any]]:
    if isinstance(value, bool):
        return "item.type = %s", [str(value).lower()]
    return f"item.type IN {_TYPES[kind_of(value)]} AND item.value {operator} %s", [_sqlite_value(value)]


def _sqlite_member(kind: str, items: Sequence[Scalar]) -> tuple[str, list[Any]]:
    """Test membership in those of the items that are of a kind: one parameter, however many they are."""
    members = [item for item in items if kind_of(item) == kind]
    if kind == "truth":
        listed = json.dumps([str(item).lower() for item in members])
        return "item.type IN (SELECT value FROM json_each(%s))", [listed]
    listed = json.dumps([_sqlite_value(item) for item in members])
    return f"item.type IN {_TYPES[kind]} AND item.value IN (SELECT value FROM json_each(%s))", [listed]  # noqa: S608 - constants and marks


def _sqlite_value(value: Scalar) -> Scalar:
    """Return a value as SQLite reads it out of JSON: integers that have no room in 64 bits are real numbers there."""
    value = _plain(value)
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value


def _plain(value: Scalar) -> Scalar:
    """Return a value that both databases can hold: no number is more than the greatest of JSON's that is finite."""
    if isinstance(value, str):
        return str(storable(value))
    return value if isinstance(value, bool) else max(-sys.float_info.max, min(sys.float_info.max, value))


# ------------------------------------------------------------------------------------------- PostgreSQL

_CAST = {"text": ("string", '({}) COLLATE "C"', "%s"), "number": ("number", "({})::numeric", "%s::numeric")}


def _postgresql_test(kind: str, column: str, key: str, value: Any) -> tuple[str, list[Any]]:
    if kind == "in":
        items = [json.dumps(_plain(item)) for item in value]
        return f"COALESCE({column} -> %s = ANY(%s::text[]::jsonb[]), FALSE)", [key, items]
    if kind == "eq":
        return f"COALESCE({column} -> %s = %s::jsonb, FALSE)", [key, json.dumps(_plain(value))]
    name, cast, mark = _CAST[kind_of(value)]
    ours = cast.format(f"{column} ->> %s")
    given = storable(value) if isinstance(value, str) else json.dumps(_plain(value))
    sql = f"CASE WHEN jsonb_typeof({column} -> %s) = '{name}' THEN {ours} {_ORDERS[kind]} {mark} ELSE FALSE END"
    return sql, [key, key, given]
