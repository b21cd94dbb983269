"""How much of what could go on for ever is tried: little in the long checks, all of it by a command of its own
(``python -m tests.run long``)."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("LONG_TESTS"))


def deep(checked: int, long: int) -> int:
    """The number of rounds: in the long checks, and where all of it is asked for."""
    return long if LONG else checked
