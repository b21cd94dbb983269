"""Keeps the statistics of SQLite's query planner fresh: how many rows share a value of an index.

Without them it takes every index for as good as any other, and reads all turns of a status for each session. SQLite
collects them only on ANALYZE, here from a few hundred rows of each index. (PostgreSQL has autovacuum.)
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.apps import apps
from django.db import DatabaseError, connection

from agents.base.store import failures
from agents.base.store.writer import writer

ANALYSIS_ROWS = 400
"""About how many rows of an index are sampled."""
MAX_AGE_S = 6 * 3600.0
"""Age at which the statistics are renewed although the store has not grown much."""
GROWTH_FACTOR = 2
"""Growth of the store at which the statistics are renewed at once."""


class PlannerStatistics:
    """Renews the statistics from time to time: `renew` is called periodically, and runs when it is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_run: tuple[float, int] | None = None

    def renew(self) -> bool:
        """Analyze the tables, as one short job of the writer; returns whether it was due and succeeded. Open
        connections use the first statistics at once, and newer ones when they are opened again."""
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
    """Analyze the tables; returns how many pages of the store are in use."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit={ANALYSIS_ROWS}").fetchall()
        for table in _tables():
            cursor.execute(f"ANALYZE {table}")
    return _pages()


def _tables() -> list[str]:
    """Return the tables with more than a key: of the others ANALYZE would only count the rows, by reading them."""
    models = apps.get_app_config("agents").get_models()
    return [model._meta.db_table for model in models if model._meta.indexes or model._meta.constraints]


def _pages() -> int:
    """Count the pages in use, without the free ones that deletions leave."""
    with connection.cursor() as cursor:
        [(pages,)] = cursor.execute("PRAGMA page_count").fetchall()
        [(free,)] = cursor.execute("PRAGMA freelist_count").fetchall()
    return int(pages) - int(free)
