"""Pages and batches of large rows, limited by bytes.

Lists of such rows read the sizes first. A page ends where it holds enough bytes, before its limit if
need be, and its rows are read in groups: many small ones together, a large one alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db import connection
from django.db.models import BinaryField, Func, Model

from agents.base.store import encoding
from agents.base.store.sql import columns

K = TypeVar("K")

PAGE_BYTES = 4 * 2**20
"""Most bytes of the rows of one page. A larger row is a page of its own."""
TOGETHER_BYTES = 2**20
"""Most bytes read by one statement."""
Sized = tuple[K, int]
"""The key of a row, and its bytes."""


def bytes_of(column: str) -> str:
    """Return SQL for the bytes of a text. PostgreSQL knows them without reading it."""
    return f"LENGTH(CAST({column} AS BLOB))" if connection.vendor == "sqlite" else f"OCTET_LENGTH({column})"


def sizes(model: type[Model], field: str, keys: Sequence[int]) -> Iterator[int]:
    """Yield the bytes of a text of these rows, in their order; 0 for a row that was deleted. No text is read."""
    table, [column] = model._meta.db_table, columns(model, field)
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(keys)) or "NULL"
            cursor.execute(f"SELECT id, OCTET_LENGTH({column}) FROM {table} WHERE id IN ({marks})", list(keys))  # noqa: S608 - names of ours
            size_by_key = dict(cursor.fetchall())
        yield from (size_by_key.get(key, 0) for key in keys)
        return
    connection.ensure_connection()
    for key in keys:
        # in SQL it would have to read a text to know its size
        try:
            with connection.connection.blobopen(table, column, key, readonly=True) as blob:
                yield len(blob)
        except sqlite3.OperationalError:
            yield 0


class _Header(Func):
    """SQL for the first bytes of a packed body, which hold its size."""

    function = "SUBSTR"
    template = f"%(function)s(%(expressions)s, 1, {encoding.HEADER})"
    output_field = BinaryField()


def packed_sizes(rows: Any) -> dict[int, int]:
    """Return the unpacked sizes of the bodies of these rows, by their keys."""
    headers = rows.values_list("pk", "encoding", _Header("body"))
    return {key: encoding.size_of(kind, head) for key, kind, head in headers}


def page(sized: Iterable[Sized[K]], limit: int) -> tuple[list[Sized[K]], bool]:
    """Take the first of these rows, at least one, at most ``limit`` and `PAGE_BYTES`; tell whether there are more."""
    rows, weight = list[Sized[K]](), 0
    for key, size in sized:
        weight += size
        if len(rows) == limit or (rows and weight > PAGE_BYTES):
            return rows, True
        rows.append((key, size))
    return rows, False


def groups(sized: Iterable[Sized[K]], max_size: int | None = None, limit: int | None = None) -> Iterator[list[K]]:
    """Group keys with sizes, each group of at most ``max_size`` together (by default `TOGETHER_BYTES`) and at most
    ``limit`` keys; a larger one is a group of its own."""
    max_size = TOGETHER_BYTES if max_size is None else max_size
    group, weight = list[K](), 0
    for key, size in sized:
        if group and (weight + size > max_size or len(group) == limit):
            yield group
            group, weight = [], 0
        group.append(key)
        weight += size
    if group:
        yield group


def weight(sized: Sequence[Sized[Any]]) -> int:
    """Return the sum of the sizes."""
    return sum(size for _, size in sized)
