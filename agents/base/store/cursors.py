"""Statements of the hot path, past Django's cursor where that pays: on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

from django.db import DEFAULT_DB_ALIAS, connections


class _Direct(Protocol):
    """What our engine for PostgreSQL (`agents.base.store.postgresql`) adds to Django's."""

    def direct_cursor(self) -> AbstractContextManager[Any]: ...

    def write_later(self, text: str, values: Sequence[Any] | None) -> None: ...

    def write_many_later(self, text: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def insert_later(self, head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None: ...


def direct_cursor() -> AbstractContextManager[Any]:
    """Open a cursor on the thread's connection; its errors are Django's."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "postgresql":
        return cast(_Direct, database).direct_cursor()
    return cast(AbstractContextManager[Any], database.cursor())


def write_later(text: str, values: Sequence[Any] | None = None) -> None:
    """Run a statement whose outcome nobody looks at: on PostgreSQL in one message with the next one of the
    transaction, or its commit, which raises what it raises."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "postgresql":
        cast(_Direct, database).write_later(text, values)
    else:
        with database.cursor() as cursor:
            cursor.execute(text, values)


def write_many_later(text: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement once for each row of values, as `write_later` does."""
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "postgresql":
        cast(_Direct, database).write_many_later(text, rows)
    else:
        with database.cursor() as cursor:
            cursor.executemany(text, rows)


def insert_later(head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows on PostgreSQL, as `write_later` does, many by one statement. With a ``tail`` that updates rows, none
    may be there twice."""
    cast(_Direct, connections[DEFAULT_DB_ALIAS]).insert_later(head, marks, tail, rows)
