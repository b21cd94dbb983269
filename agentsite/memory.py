"""Memory that is free again goes back to the system.

What large requests needed stays with the process otherwise: C's allocator keeps what is free below something
still in use, and Python looks for garbage in its oldest generation almost never, after `manage.py` told it to.
"""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path

GROWN = 16 * 2**20
"""Bytes that the process has to have grown by before it is worth the look."""

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 512 * 1024, _TRIM_THRESHOLD: 4 * 2**20}
"""Of glibc's allocator, see mallopt(3): few arenas, and what is large from the system and back to it."""

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Memory:
    """Of this process. Looks cost some milliseconds, and only where there is something to be had."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)  # of glibc alone, as the options are
        if self._trim is not None:
            for option, value in _OPTIONS.items():
                library.mallopt(option, value)
        self._least = resident()

    def give_back(self) -> None:
        """Return what is free to the system, if much has come since the last time."""
        used = resident()
        self._least = min(self._least, used)
        if used < self._least + GROWN:
            return
        gc.collect()
        if self._trim is not None:
            self._trim(0)
        self._least = resident()


def resident() -> int:
    """Bytes of memory that the process holds; 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE
    except OSError:
        return 0
