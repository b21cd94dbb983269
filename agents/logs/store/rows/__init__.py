"""Read the rows of the lists by their keys, one module for each level.

The caller has checked that the keys may be seen (`agents.logs.store.listing`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agents.logs.schemas.rows import ResponseRow, SessionRow, StepRow, TurnRow
from agents.logs.store.rows import responses, sessions, steps, turns
from agents.query.tree import Level

Row = TurnRow | SessionRow | StepRow | ResponseRow
_ROWS: dict[Level, Callable[[Sequence[int]], Sequence[Any]]] = {
    "session": sessions.rows,
    "turn": turns.rows,
    "response": responses.rows,
    "step": steps.rows,
}


def of(level: Level, keys: Sequence[int]) -> list[Any]:
    """Read the rows of these keys, in their order; deleted ones are left out."""
    return list(_ROWS[level](keys)) if keys else []
