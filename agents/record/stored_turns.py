"""What readers of live turns read of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agents.base.reading import read
from agents.record.models.choices import TurnStatus
from agents.record.schemas.events import Cursor, Entry
from agents.record.store import replay, turns

TurnState = tuple[TurnStatus, int]
"""The status of a turn, and the number of its next event."""


class StoredTurns(Protocol):
    """The store, as readers on the event loop see it."""

    async def window(self, turn: int, after: Cursor) -> Sequence[Entry]:
        """Return the next entries of a turn after a cursor, in order; none at the end of what is stored."""
        ...

    async def state(self, turn: int) -> TurnState | None:
        """Return the state of a turn; None when it was deleted."""
        ...


class DatabaseTurns:
    """The turns of the database, read on a small pool of threads of its own."""

    async def window(self, turn: int, after: Cursor) -> Sequence[Entry]:
        return await read(replay.window, turn, after)

    async def state(self, turn: int) -> TurnState | None:
        return await read(turns.state, turn)
