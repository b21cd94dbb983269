"""Memory that is free again goes back to the system.

What large requests needed stays with the process otherwise. Python's own allocator for small objects keeps a
mebibyte for each that is still in use, so a server takes C's for them too, which keeps a page. That one keeps
what is free below something still in use until it is asked for it. And Python looks for garbage in its oldest
generation almost never, after `manage.py` told it to.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

MIN_GROWTH = 16 * 2**20
"""Bytes that the process has to have grown by before it is worth the look."""
MAX_IDLE_CHANGE = 2**20
"""Bytes by which a process at rest may grow and shrink."""
IDLE_ROUNDS = 3
"""Looks in a row that find it at rest before what the last load left is given back."""

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 128 * 1024, _TRIM_THRESHOLD: 4 * 2**20}
"""Of glibc's allocator, see mallopt(3): few arenas, and what is large from the system and back to it."""

_STATM = Path("/proc/self/statm")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def use_system_allocator() -> None:
    """Start this program again, as the same process, if its small objects are not the system's allocator's yet.

    Only the interpreter's start decides about it. Nothing happens where the allocator is another than glibc's,
    or where somebody chose one.
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
    """Of this process. Looks cost some tens of milliseconds, and only where there is something to be had."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)  # of glibc alone, as the options are
        if self._trim is not None:
            for option, value in _OPTIONS.items():
                library.mallopt(option, value)
        self._left = self._before = resident_bytes()
        self._calm = 0

    def release(self) -> None:
        """Return what is free to the system, if much has come since the last time, and once whenever the process has
        come to rest. Called every few seconds."""
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
    """Bytes of memory that the process holds; 0 where the system does not say."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE
    except OSError:
        return 0
