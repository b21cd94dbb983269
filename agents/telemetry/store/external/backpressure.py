"""Who is being listened to: what makes turns of reports gives way to those that bring more of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Intake:
    """Counts the reports that are being read and kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._coming = 0
        self._nobody = threading.Event()
        self._nobody.set()

    @contextmanager
    def taking(self) -> Iterator[None]:
        """While a report is read and kept."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._lock:
            self._coming += more
            if self._coming:
                self._nobody.clear()
            else:
                self._nobody.set()

    def give_way(self, most_s: float) -> None:
        """Wait until no report is being taken in, but not longer than so many seconds."""
        self._nobody.wait(most_s)


intake = Intake()
"""The process's intake."""
