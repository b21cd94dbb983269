"""What SQLite's planner knows of the tables: how many rows share a value of an index.

Without that it takes every index for as good as any other, and reads all turns of a status for each session. It learns
it by itself only when it is told to look, a few hundred rows of each index at a time. (PostgreSQL looks by itself.)
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.apps import apps
from django.db import DatabaseError, connection

from agents.base.store import failures
from agents.base.store.writer import writer

ANALYSIS_ROWS = 400
"""Rows of an index that are looked at, about."""
MAX_AGE_S = 6 * 3600.0
"""When it is looked at again, though the store has not grown much."""
GROWTH_FACTOR = 2
"""How many times larger a store is that is looked at again at once."""


class PlannerStatistics:
    """What one process has seen to: `renew` is called again and again, and does something where it is time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_run: tuple[float, int] | None = None

    def renew(self) -> bool:
        """Look at the tables, as one short job of the writer; returns whether it was time, and went well. What others
        have open already goes by it as soon as there is any, and by newer ones when it is opened anew."""
        if connection.vendor != "sqlite" or not self._is_time():
            return False
        try:
            pages = writer.write(_analyze)
        except DatabaseError as error:
            if failures.unavailable(error, "looking at the tables") is None:
                raise
            return False  # a file that is held, full or may only be read: the next time may find it otherwise
        self._last_run = self._clock(), pages
        return True

    def _is_time(self) -> bool:
        if self._last_run is None:
            return True
        at, pages = self._last_run
        return self._clock() - at >= MAX_AGE_S or _pages() >= pages * GROWTH_FACTOR


def _analyze() -> int:
    """How many pages of the store are in use."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit={ANALYSIS_ROWS}").fetchall()
        for table in _tables():
            cursor.execute(f"ANALYZE {table}")
    return _pages()


def _tables() -> list[str]:
    """Those with more than a key: of the others it would only learn how long they are, by reading them."""
    models = apps.get_app_config("agents").get_models()
    return [model._meta.db_table for model in models if model._meta.indexes or model._meta.constraints]


def _pages() -> int:
    """Those in use: what was deleted leaves others behind, which are filled first."""
    with connection.cursor() as cursor:
        [(pages,)] = cursor.execute("PRAGMA page_count").fetchall()
        [(free,)] = cursor.execute("PRAGMA freelist_count").fetchall()
    return int(pages) - int(free)
