"""When a delivery that has failed is tried again: soon at first, then every few hours, for a day."""

from __future__ import annotations

_PAUSES_S = (5, 30, 120, 300, 900, 1800, 3600, 7200, *([10_800] * 6))
"""Before the second attempt, the third, …: 22 hours together."""
TRIED_FOR_US = 86_400_000_000
"""A delivery is given up when the next attempt would be later than this after the first."""
MAX_ASKED_PAUSE_S = 3600
"""Longest pause that an endpoint may ask for by ``Retry-After``."""
_SPREAD = 10
"""Pauses are up to this many per cent longer, by the key of the delivery: what failed together is spread."""


def next_attempt(key: int, failures: int, began_at: int, now_us: int, asked_s: int = 0) -> int | None:
    """Return when a delivery is tried again after so many failures, in microseconds since 1970; None where it is given
    up. ``asked_s`` is the pause that the endpoint has asked for."""
    if failures > len(_PAUSES_S):
        return None
    pause_us = _PAUSES_S[failures - 1] * (100 + key % (_SPREAD + 1)) * 10_000
    due_at = now_us + max(pause_us, min(asked_s, MAX_ASKED_PAUSE_S) * 1_000_000)
    return due_at if due_at <= began_at + TRIED_FOR_US else None
