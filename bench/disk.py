"""How long the disk needs to make a commit safe. A time target is a figure plus its commits times
this, because the same server waits 0.05 ms on one disk and 10 ms on another."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from bench.figures import Spread, spread

PAGE = 8192
"""The page size of the store: a commit appends at least one."""


def fdatasync(folder: Path, times: int = 200) -> Spread:
    """Append a page and wait for the disk, again and again, in a file of ``folder``."""
    seconds = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            os.write(file.fileno(), b"\0" * PAGE)
            began = time.monotonic()
            os.fdatasync(file.fileno())
            seconds.append(time.monotonic() - began)
    return spread(seconds)
