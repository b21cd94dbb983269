"""The live events of a session: of the turn that runs, and of all that follow, without an end of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from agents.base import sse
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.openai_agents.runner.sessions import agent_id_of, head_of, looking
from agents.openai_agents.store import sessions
from agents.openai_agents.store.sessions import StoredSession
from agents.openai_agents.wire.sessions import SessionHead
from agents.openai_agents.wire.stream import SessionStream
from agents.record import live
from agents.record.bus import TICK_S, hub
from agents.record.schemas.events import Delta, Entry, TurnAwaiting, TurnEnded, TurnResumed, TurnStarted

_STATES = (TurnStarted, TurnResumed, TurnAwaiting, TurnEnded)
"""Events whose frames show the session."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream begins: with the turns after ``number``, or in the turn ``turn`` behind its event ``after``."""

    number: int
    turn: int | None = None
    after: int = -1


def now(session: int) -> Position:
    """Return the position behind all that has happened in a session."""
    place = sessions.newest_turn(session)
    if place is None:
        return Position(-1)
    return Position(place.number) if place.is_over else Position(place.number, place.key, place.next_seq - 1)


def frames(actor: Actor, row: StoredSession, position: Position, *, status: str | None = None) -> AsyncIterator[bytes]:
    """Yield the frames of a session from a position on, with keep-alive comments, until the session is deleted. With a
    ``status`` they begin with the session's creation, and end with its first turn."""
    return sse.with_keep_alive(_frames(actor, row, position, status), bytes)


async def _frames(
    actor: Actor, row: StoredSession, position: Position, status: str | None
) -> AsyncGenerator[bytes, None]:
    head = await read(head_of, actor, row)
    stream = SessionStream(head, agent_id_of(row))
    with _Changes(row.key) as changes:
        if status is not None:
            yield stream.created(status)
        number, turn, after = position.number, position.turn, position.after
        while True:
            if turn is not None:
                async with aclosing(_turn_frames(actor, stream, turn, after)) as parts:
                    async for part in parts:
                        yield part
                if status is not None and stream.ended:
                    return
                turn, after = None, -1
            changes.forget()
            place = await read(sessions.turn_after, row.key, number)
            if place is not None:
                number, turn = place.number, place.key
            elif not await read(sessions.exists, row.key):
                return
            else:
                yield b""
                await changes.wait()


async def _turn_frames(actor: Actor, stream: SessionStream, turn: int, after: int) -> AsyncGenerator[bytes, None]:
    stream.begin_turn(turn, after)
    async with aclosing(live.follow(turn)) as batches:
        async for batch in batches:
            for part in _parts(batch):
                if isinstance(part[0], _STATES):
                    head = await read(_renewed, actor, stream.head)
                    if head is None:
                        return
                    stream.head = head
                yield stream.feed(part)
            if not batch:
                yield b""


def _parts(batch: Sequence[Entry]) -> list[list[Entry]]:
    """Cut a batch before each entry whose frames show the session, which is read anew for it."""
    parts: list[list[Entry]] = []
    for entry in batch:
        if not parts or (not isinstance(entry, Delta) and isinstance(entry, _STATES)):
            parts.append([])
        parts[-1].append(entry)
    return parts


def _renewed(actor: Actor, head: SessionHead) -> SessionHead | None:
    """Read a session again; None where it was deleted."""
    row = sessions.of_key(actor, head.key, looking(actor))
    return None if row is None else head_of(actor, row)


class _Changes:
    """Tells when something of a session has changed."""

    def __init__(self, session: int) -> None:
        self._session, self._changed = session, asyncio.Event()

    def __enter__(self) -> _Changes:
        self._unsubscribe = hub.subscribe(self._on_changes)
        return self

    def __exit__(self, *_: object) -> None:
        self._unsubscribe()

    def _on_changes(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        if (ChangeKind.SESSION, self._session) in records:
            self._changed.set()

    def forget(self) -> None:
        self._changed.clear()

    async def wait(self) -> None:
        """Wait for a change, or until a keep-alive is due."""
        try:
            async with asyncio.timeout(TICK_S):
                await self._changed.wait()
        except TimeoutError:
            pass
