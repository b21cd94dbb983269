"""Lets the projection of reports yield to the requests that bring new ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class IngestLoad:
    """Counts the reports that are being read and stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def track(self) -> Iterator[None]:
        """Count a report as active for as long as the block lasts."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._active += more
            if self._active:
                self._idle.clear()
            else:
                self._idle.set()

    def wait_while_busy(self, max_s: float) -> None:
        """Wait until no report is active, at most ``max_s`` seconds."""
        self._idle.wait(max_s)


ingest_load = IngestLoad()
"""The load of this process."""
