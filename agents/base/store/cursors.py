"""Statements of the hot path, past Django's cursor: our engines (`agents.base.store.postgresql`,
`agents.base.store.sqlite`) have methods for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, cast

from django.db import DEFAULT_DB_ALIAS, connections


class _Engine(Protocol):
    """What our engines add to Django's, and what we ask of these."""

    vendor: str
    features: Any

    def direct_cursor(self) -> AbstractContextManager[Any]: ...

    def write_later(self, text: str, values: Sequence[Any] | None) -> None: ...

    def write_many_later(self, text: str, rows: Sequence[Sequence[Any]]) -> None: ...

    def insert_later(self, head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None: ...


class _Held(threading.local):
    database: _Engine | None = None


_held = _Held()


def database() -> _Engine:
    """Return the thread's connection."""
    return _held.database or cast(_Engine, connections[DEFAULT_DB_ALIAS])


@contextmanager
def held() -> Iterator[None]:
    """Within the block, look the thread's connection up only once: Django asks first whether an event loop runs in the
    thread, which costs a third of a statement."""
    before = _held.database
    _held.database = database()
    try:
        yield
    finally:
        _held.database = before


def direct_cursor() -> AbstractContextManager[Any]:
    """Open a cursor on the thread's connection; its errors are Django's."""
    return database().direct_cursor()


def write_later(text: str, values: Sequence[Any] | None = None) -> None:
    """Run a statement whose outcome nobody looks at: on PostgreSQL in one message with the next one of the
    transaction, or its commit, which raises what it raises."""
    database().write_later(text, values)


def write_many_later(text: str, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement once for each row of values, as `write_later` does."""
    database().write_many_later(text, rows)


def insert_later(head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows as `write_later` does, many by one statement. With a ``tail`` that updates rows, none may be there
    twice on PostgreSQL."""
    database().insert_later(head, marks, tail, rows)
