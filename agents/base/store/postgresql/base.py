"""The engine: Django's own, with fewer messages between the process and the server.

The round trip of a statement costs the process three times as much as writing it. So those whose outcome nobody
looks at (`write_later`) wait for the next statement of the transaction, or its end, and are sent before it in the same
message. They are run in the order in which they were written. What one of them raises is raised where they are sent: it
is the end of the transaction, or of its savepoint, in any case.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

from django.db.backends.postgresql.base import DatabaseWrapper as DjangosWrapper
from psycopg import ClientCursor, Connection, OperationalError

MAX_WAITING_BYTES = 256 * 1024
"""Statements that are longer together than this are sent at once."""
INSERTED_TOGETHER = 64
"""Rows of one statement."""


def is_quiet(connection: Connection[Any]) -> bool:
    """Tell whether nothing has come from the server since the last answer: it says so when it ends a connection.
    One that is gone without a word is found by TCP. Raises psycopg.OperationalError for a closed one."""
    look = select.poll()
    look.register(connection.fileno(), select.POLLIN)
    return not look.poll(0)


class DatabaseWrapper(DjangosWrapper):
    """A thread's connection."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0

    # ------------------------------------------------------------------------------------------ statements

    def write_later(self, text: str, values: Sequence[Any] | None) -> None:
        """Run a statement of the open transaction before its next one, or its end. Outside of one, or where something
        watches statements, it is run now."""
        if not self.in_atomic_block or self._is_watched():
            with self.cursor() as cursor:
                cursor.execute(text, values)
        else:
            self._prepare()
            self._keep(text, values)

    def write_many_later(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row of values, as `write_later` does."""
        if not self.in_atomic_block or self._is_watched():
            with self.cursor() as cursor:
                cursor.executemany(text, rows)
        else:
            self._prepare()
            for row in rows:
                self._keep(text, row)

    def insert_later(self, head: str, marks: str, tail: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows as `write_later` does, many by one statement: the server takes longer to understand a statement
        than to insert its row."""
        if not self.in_atomic_block or self._is_watched():
            self.write_many_later(f"{head} VALUES {marks}{tail}", rows)
            return
        self._prepare()
        with self.wrap_database_errors:
            cursor = ClientCursor(self.connection)
            values = [cursor.mogrify(marks, row) for row in rows]
        for start in range(0, len(values), INSERTED_TOGETHER):
            self._wait_with(f"{head} VALUES {', '.join(values[start : start + INSERTED_TOGETHER])}{tail}".encode())

    def _keep(self, text: str, values: Sequence[Any] | None) -> None:
        with self.wrap_database_errors:
            statement = ClientCursor(self.connection).mogrify(text, values).encode()
        self._wait_with(statement)

    def _wait_with(self, statement: bytes) -> None:
        self._waiting.append(statement)
        self._waiting_bytes += len(statement)
        if self._waiting_bytes > MAX_WAITING_BYTES:
            self.send()

    def direct_cursor(self) -> AbstractContextManager[Any]:
        """Open one of psycopg's cursors, whose errors are Django's; Django's own where something watches statements."""
        if self._is_watched():
            return cast(AbstractContextManager[Any], self.cursor())
        self._prepare()
        return _Cursor(self)

    def send(self) -> None:
        """Send what waits."""
        if self._waiting:
            text = self.take()
            with self.wrap_database_errors:
                ClientCursor(self.connection).execute(text)

    def take(self) -> bytes:
        """Return what waits, as one text; the caller sends it."""
        text = b";\n".join(self._waiting)
        self._drop()
        return text

    def _drop(self) -> None:
        self._waiting.clear()
        self._waiting_bytes = 0

    def _is_watched(self) -> bool:
        return bool(self.execute_wrappers) or self.queries_logged

    def _prepare(self) -> None:
        self.close_if_health_check_failed()
        self.ensure_connection()
        self.validate_no_broken_transaction()

    # ------------------------------------------------------------------------------------------ Django's hooks

    def cursor(self) -> Any:
        self._send_before()
        return super().cursor()

    def chunked_cursor(self) -> Any:
        self._send_before()
        return super().chunked_cursor()

    def _send_before(self) -> None:
        if self.needs_rollback:
            self._drop()
        self.send()

    def commit(self) -> None:
        self.send()
        super().commit()

    def rollback(self) -> None:
        self._drop()
        super().rollback()

    def savepoint_rollback(self, sid: str) -> None:
        self._drop()  # what was written before the savepoint was sent before it
        super().savepoint_rollback(sid)

    def is_usable(self) -> bool:
        """Tell whether statements can be sent, without a round trip where nothing speaks against it."""
        try:
            if self.connection is not None and not self.errors_occurred and is_quiet(self.connection):
                return True
        except OperationalError:
            return False
        return bool(super().is_usable())

    def close(self) -> None:
        self._drop()
        super().close()


class _Cursor(ClientCursor[Any]):
    """Sends what waits together with its first statement."""

    def __init__(self, database: DatabaseWrapper) -> None:
        super().__init__(database.connection)
        self._database = database

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        super().__exit__(kind, error, traceback)
        self._database.wrap_database_errors.__exit__(kind, error, traceback)

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        waiting = self._database.take()
        if not waiting:
            return super().execute(query, params, **options)
        super().execute(waiting + b";\n" + self.mogrify(query, params).encode(), **options)
        while self.nextset():
            pass
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        self._database.send()
        super().executemany(query, params_seq, **options)

    def copy(self, *args: Any, **options: Any) -> Any:
        self._database.send()
        return super().copy(*args, **options)
