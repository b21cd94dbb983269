"""The engine: Django's own, with less between the process and SQLite.

A statement of the hot path takes SQLite some 15 µs, and Django's cursor three times that: it looks through the text for
marks each time, asks who watches, and wraps what is raised. `SQLiteConnection.direct_cursor` and its siblings leave
that out. What is asked of a connection before each statement stays: that it is the thread's own, that it is open, and
that its transaction is not broken.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from threading import get_ident
from typing import Any, cast

from django.conf import settings
from django.db.backends.sqlite3.base import FORMAT_QMARK_REGEX
from django.db.backends.sqlite3.base import DatabaseWrapper as DjangosWrapper
from django.db.utils import DatabaseErrorWrapper, OperationalError

from agents.base.errors import QuerySyntax

BATCH_SIZES = (512, 128, 16, 1)
"""Rows of one statement, the largest first: few distinct statements, which SQLite keeps prepared."""


@lru_cache(maxsize=1024)
def _marked(text: str) -> str:
    """Return a statement with SQLite's marks for Django's."""
    return FORMAT_QMARK_REGEX.sub("?", text).replace("%%", "%")


@lru_cache(maxsize=1024)
def _insertion(head: str, marks: str, tail: str, rows: int) -> str:
    return _marked(f"{head} VALUES {', '.join([marks] * rows)}{tail}")


class SQLiteConnection(DjangosWrapper):
    """A thread's connection."""

    # Django's own, of which django-stubs know nothing
    health_check_enabled: bool
    transaction_mode: str | None
    _thread_ident: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._logs_all = bool(settings.DEBUG)

    # ------------------------------------------------------------------------------------------ statements

    def direct_cursor(self) -> AbstractContextManager[Any]:
        """Open one of sqlite3's cursors, whose errors are Django's; Django's own where something watches statements."""
        if self._is_watched():
            return cast(AbstractContextManager[Any], self.cursor())
        self._prepare()
        cursor = self.connection.cursor(_Cursor)
        cursor.database = self
        return cast(AbstractContextManager[Any], cursor)

    def write_later(self, text: str, values: Sequence[Any] | None) -> None:
        """Run a statement: there is no server here for which others would wait."""
        if self._is_watched():
            with self.cursor() as cursor:
                cursor.execute(text, values)
        elif values is None:
            self._run(text, ())
        else:
            self._run(_marked(text), values)

    def write_many_later(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        if self._is_watched():
            with self.cursor() as cursor:
                cursor.executemany(text, rows)
            return
        self._prepare()
        try:
            self.connection.executemany(_marked(text), rows)
        except sqlite3.Error:
            with self.wrap_database_errors:
                raise

    def insert_later(self, head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, many by one statement. This avoids `executemany`, which releases Python's lock for each row:
        with computing threads, a writer waits longer for the lock than it writes. Django's cursor would scan thousands
        of marks: it is not used where something watches statements, either."""
        start = 0
        for size in BATCH_SIZES:
            while len(rows) - start >= size:
                values = rows[start] if size == 1 else [value for row in rows[start : start + size] for value in row]
                self._run(_insertion(head, marks, tail, size), values)
                start += size

    def _run(self, marked: str, values: Sequence[Any]) -> None:
        self._prepare()
        try:
            self.connection.execute(marked, values)
        except sqlite3.Error:
            with self.wrap_database_errors:
                raise

    def _is_watched(self) -> bool:
        return bool(self.execute_wrappers) or self.force_debug_cursor or self._logs_all

    def _prepare(self) -> None:
        """Do what Django does before each statement, where there is something to do: its own checks take a lock."""
        if self.connection is None or self.health_check_enabled:
            self.close_if_health_check_failed()
            self.ensure_connection()
        if self._thread_ident != get_ident():
            self.validate_thread_sharing()
        if self.needs_rollback:
            self.validate_no_broken_transaction()

    # ------------------------------------------------------------------------------------------ Django's hooks

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        return _Errors(self)

    def _start_transaction_under_autocommit(self) -> None:
        if self._is_watched():
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # Django's, but not in django-stubs
        else:
            self._run(f"BEGIN {self.transaction_mode or ''}", ())

    def _commit(self) -> None:
        if self.connection is None or self._is_watched():
            super()._commit()  # type: ignore[misc]  # Django's, but not in django-stubs
            return
        try:
            self.connection.commit()
        except sqlite3.Error:
            with self.wrap_database_errors:
                raise

    def _set_autocommit(self, autocommit: bool) -> None:
        # sqlite3 runs another COMMIT where it is told what it knows
        if not autocommit or self.connection.isolation_level is not None or self.connection.in_transaction:
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # Django's, but not in django-stubs


class _Errors(DatabaseErrorWrapper):
    """Makes sqlite3's errors Django's, and lets a statement that SQLite finds nested too deeply be refused as the query
    that it was made of. Its parser has room for a hundred open parts, and nothing else that we ask comes near that."""

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is None:
            return
        try:
            super().__exit__(kind, error, traceback)
        except OperationalError as raised:
            if "parser stack overflow" not in str(raised):
                raise
            message = "This query is nested too deeply for SQLite: fewer levels inside each other, or PostgreSQL, help"
            raise QuerySyntax(message, position=0) from raised


class _Cursor(sqlite3.Cursor):
    database: SQLiteConnection

    def __enter__(self) -> _Cursor:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close()  # a statement that was not read to its end would keep its snapshot
        if kind is not None:
            self.database.wrap_database_errors.__exit__(kind, error, traceback)

    def execute(self, text: str, values: Any = None) -> _Cursor:
        if values is None:
            return super().execute(text)
        return super().execute(_marked(text), values)

    def executemany(self, text: str, rows: Any) -> _Cursor:
        return super().executemany(_marked(text), rows)


DatabaseWrapper = SQLiteConnection  # the name by which Django finds it
