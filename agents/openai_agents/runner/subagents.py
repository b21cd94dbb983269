"""The sub-agents of a session: as they are shown, and what a stream has to tell of those that one turn calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.openai_agents.runner.sessions import agent_id_of
from agents.openai_agents.store import subagents
from agents.openai_agents.store.sessions import StoredSession
from agents.openai_agents.store.subagents import StoredSubagent
from agents.openai_agents.wire.sessions import SubagentHead, subagent_id, subagent_json
from agents.record.bus import hub
from agents.record.schemas.events import Entry, StepEnded, StepStarted, TurnEnded

JSON = dict[str, Any]
MIN_LOOK_S = 0.1
"""Between two looks for sub-agents while nothing happens in the turn itself."""


def object_of(row: StoredSession, subagent: StoredSubagent) -> JSON:
    """Encode a sub-agent of a session."""
    is_of_session = subagent.parent is None or subagent.parent_session == row.key
    parent = agent_id_of(row) if is_of_session or subagent.parent is None else subagent_id(subagent.parent)
    times = subagent.opened_at, subagent.closed_at
    return subagent_json(SubagentHead(subagent.turn, row.key, parent, subagent.name, subagent.task, *times))


class CalledAgents:
    """What a stream has told of the sub-agents below one turn. ``known`` are those of before, by their turns, each with
    whether it was closed; while ``may_call`` the turn has an open call of one of the server's tools."""

    def __init__(self, actor: Actor, row: StoredSession, turn: int, known: Mapping[int, bool]) -> None:
        self._actor, self._row, self._turn = actor, row, turn
        self._known = dict(known)
        self._open: set[int] = set()
        self._has_called = bool(known)

    @property
    def may_call(self) -> bool:
        return bool(self._open)

    def note(self, entry: Entry) -> bool:
        """Take note of an entry of the turn; returns whether sub-agents may have come or gone before it."""
        match entry:
            case StepStarted(step_type="tool_execution", server_side=True):
                self._open.add(entry.step)
                self._has_called = True
            case StepEnded() if entry.step in self._open:
                self._open.discard(entry.step)
                return True
            case TurnEnded():
                return self._has_called
        return False

    async def news(self) -> list[tuple[str, str, JSON]]:
        """Return what has happened since the last look: what, the id of the event, and the sub-agent."""
        return await read(self._look)

    def _look(self) -> list[tuple[str, str, JSON]]:
        states, before = subagents.states(self._turn), self._known
        changed = [key for key, is_closed in states.items() if before.get(key) != is_closed]
        rows = subagents.of_turns(self._actor, changed)
        events = [("created", replace(row, closed_at=None)) for row in rows if row.turn not in before]
        events += [("active", row) for row in rows if row.closed_at is None and before.get(row.turn)]
        closed = [row for row in rows if row.closed_at is not None and not before.get(row.turn)]
        events += [("closed", row) for row in sorted(closed, key=lambda row: (row.closed_at or 0, -row.turn))]
        before.update((row.turn, row.closed_at is not None) for row in rows)
        return [(what, self._event_id(row, what), object_of(self._row, row)) for what, row in events]

    def _event_id(self, subagent: StoredSubagent, what: str) -> str:
        prefix = ids.part("evt", ids.Kind.TURN, subagent.turn)
        return f"{prefix}_{what}"


async def moments_beside(following: asyncio.Future[Any]) -> AsyncGenerator[None, None]:
    """Yield whenever sub-agents may have come or gone, until ``following`` is done. It is cancelled if nobody waits for
    that."""
    changes = _TurnChanges()
    try:
        with changes:
            while not following.done():
                yield
                await changes.wait_beside(following)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class _TurnChanges:
    """Tells when any turn has begun or ended."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def __enter__(self) -> None:
        self._changed.clear()
        self._unsubscribe = hub.subscribe(self._on_changes)

    def __exit__(self, *_: object) -> None:
        self._unsubscribe()

    def _on_changes(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        if any(kind == ChangeKind.TURN for kind, _ in records):
            self._changed.set()

    async def wait_beside(self, following: asyncio.Future[Any]) -> None:
        """Wait for a change, but not beyond the end of ``following``."""
        pause = asyncio.ensure_future(self._next())
        try:
            await asyncio.wait({pause, following}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            pause.cancel()

    async def _next(self) -> None:
        await asyncio.sleep(MIN_LOOK_S)
        await self._changed.wait()
        self._changed.clear()
