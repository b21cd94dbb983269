"""Read in one snapshot of the database, with a time limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import DatabaseError, connection

from agents.base.errors import Unavailable

BUDGET_S = 4.0
_PROGRESS_STEPS = 20_000
"""Instructions of SQLite's virtual machine between two checks of the clock: less than a millisecond."""


@contextmanager
def reading(budget_s: float | None = None) -> Iterator[Deadline]:
    """Run all reads of the block in one snapshot. Raises Unavailable when they take longer than the
    budget (`BUDGET_S`); a caller that computes between them calls `Deadline.check`."""
    deadline = Deadline(BUDGET_S if budget_s is None else budget_s)
    connection.ensure_connection()
    with _snapshot(), _time_limit(deadline):
        try:
            yield deadline
        except DatabaseError as error:
            if deadline.passed:
                raise _too_long() from error
            raise


class Deadline:
    def __init__(self, budget_s: float) -> None:
        self._ends = time.monotonic() + budget_s
        self.budget_s = budget_s

    @property
    def passed(self) -> bool:
        return time.monotonic() > self._ends

    def check(self) -> None:
        """Raise Unavailable when the time is over."""
        if self.passed:
            raise _too_long()


def _too_long() -> Unavailable:
    return Unavailable("This takes too long to count: add a time range.", code="query_too_long", retry_after_s=30)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Begin a read transaction. Django's own would take SQLite's single write lock."""
    if connection.in_atomic_block:
        yield
        return
    isolated = "" if connection.vendor == "sqlite" else " ISOLATION LEVEL REPEATABLE READ READ ONLY"
    _execute(f"BEGIN{isolated}")
    try:
        yield
    finally:
        with suppress(DatabaseError):
            _execute("ROLLBACK")


@contextmanager
def _time_limit(deadline: Deadline) -> Iterator[None]:
    raw: Any = connection.connection
    if connection.vendor == "sqlite":
        raw.set_progress_handler(lambda: deadline.passed, _PROGRESS_STEPS)
        try:
            yield
        finally:
            raw.set_progress_handler(None, 0)
        return
    _execute(f"SET LOCAL statement_timeout = {int(deadline.budget_s * 1000)}")
    yield
    if connection.in_atomic_block:
        _execute("SET LOCAL statement_timeout = 0")


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
