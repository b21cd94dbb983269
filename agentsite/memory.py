"""Returns freed memory to the operating system.

Otherwise the process keeps the memory that large requests needed. Python's own allocator keeps a whole mebibyte for
each small object in it that is still in use, so a server uses the C allocator for small objects too, which keeps a
page. That one keeps free memory below a block in use until it is trimmed. And with the thresholds that `manage.py`
sets, Python almost never collects its oldest generation.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

MIN_GROWTH = 16 * 2**20
"""Bytes by which the process must have grown before memory is released."""
MAX_IDLE_CHANGE = 2**20
"""Bytes by which an idle process may grow or shrink."""
IDLE_ROUNDS = 3
"""Consecutive idle checks before the memory of the last load is released."""

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 128 * 1024, _TRIM_THRESHOLD: 4 * 2**20}
"""Options of glibc's allocator, see mallopt(3): few arenas; large blocks come from the system and return to it."""

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def use_system_allocator() -> None:
    """Execute this program again, in the same process, with the system's allocator for small objects.

    Only the interpreter's start can choose it. Does nothing where the C library is not glibc, or where
    ``PYTHONMALLOC`` is set.
    """
    if _is_glibc() and "PYTHONMALLOC" not in os.environ:
        environment = {**os.environ, "PYTHONMALLOC": "malloc"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606 - our own words


def _is_glibc() -> bool:
    try:
        return bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (AttributeError, ValueError, OSError):  # of Windows, of another library
        return False


class ProcessMemory:
    """The memory of this process. A release costs some tens of milliseconds, and happens only where it pays."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)  # of glibc alone, as the options are
        if self._trim is not None:
            for option, value in _OPTIONS.items():
                library.mallopt(option, value)
        self._left = self._before = resident_bytes()
        self._calm = 0

    def release(self) -> None:
        """Return free memory to the system if the process has grown much since the last time, and once whenever it has
        become idle. Called every few seconds."""
        used = resident_bytes()
        self._calm = self._calm + 1 if abs(used - self._before) < MAX_IDLE_CHANGE else 0
        self._before = used
        if used < self._left + MIN_GROWTH and self._calm != IDLE_ROUNDS:
            return
        gc.collect()
        if self._trim is not None:
            self._trim(0)
        self._left = self._before = resident_bytes()


def resident_bytes() -> int:
    """Return the resident memory of the process in bytes; 0 where the system does not provide it."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE
    except OSError:
        return 0
