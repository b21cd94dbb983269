"""Who is being listened to: what makes turns of reports gives way to those that bring more of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class IngestLoad:
    """Counts the reports that are being read and kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active = 0
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def track(self) -> Iterator[None]:
        """While a report is read and kept."""
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
        """Wait until no report is being taken in, but not longer than so many seconds."""
        self._idle.wait(max_s)


ingest_load = IngestLoad()
"""The process's intake."""
