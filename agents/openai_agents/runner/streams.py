"""The live events of a session: of the turn that runs, and of all that follow, without an end of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from agents.base import sse
from agents.base.access import Actor
from agents.base.models.changes import ChangeKind
from agents.base.reading import read
from agents.openai_agents.runner.sessions import agent_id_of, head_of, looking, renewed_head
from agents.openai_agents.runner.subagents import CalledAgents, moments_beside
from agents.openai_agents.store import sessions, subagents
from agents.openai_agents.store.sessions import StoredSession, TurnPlace
from agents.openai_agents.wire.sessions import SessionHead
from agents.openai_agents.wire.stream import SessionStream
from agents.record import live
from agents.record.bus import TICK_S, hub
from agents.record.schemas.events import Delta, Entry, TurnAwaiting, TurnEnded, TurnResumed

_RENEWING = (TurnResumed, TurnAwaiting, TurnEnded)
"""Events whose frames show the session as it is by then."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a stream begins: with the turns after ``number``, or in the turn ``turn`` behind its event ``after``, with
    the sub-agents ``called`` by then, each with whether it was closed."""

    number: int
    turn: int | None = None
    after: int = -1
    called: Mapping[int, bool] = field(default_factory=dict)


def now(session: int) -> Position:
    """Return the position behind all that has happened in a session."""
    place = sessions.newest_turn(session)
    if place is None:
        return Position(-1)
    if place.is_over:
        return Position(place.number)
    return Position(place.number, place.key, place.next_seq - 1, subagents.states(place.key))


def frames(actor: Actor, row: StoredSession, position: Position, *, status: str | None = None) -> AsyncIterator[bytes]:
    """Yield the frames of a session from a position on, with keep-alive comments, until the session is deleted. With a
    ``status`` they begin with the session's creation, and end with its first turn."""
    return sse.with_keep_alive(_frames(actor, row, position, status), sse.FrameSender(bytes))


async def _frames(
    actor: Actor, row: StoredSession, position: Position, status: str | None
) -> AsyncGenerator[bytes, None]:
    with _Session(actor, row) as session:
        stream = SessionStream(await read(head_of, actor, row), agent_id_of(row))
        if status is not None:
            yield stream.created(status)
        number, turn, after = position.number, position.turn, position.after
        called = None if turn is None else CalledAgents(actor, row, turn, position.called)
        while True:
            if turn is not None and called is not None:
                stream.begin_turn(turn, after)
                async with aclosing(_turn_frames(session, stream, turn, called)) as parts:
                    async for part in parts:
                        yield part
                if status is not None and stream.ended:
                    return
            if turn is None or turn != stream.head.last_turn or session.has_changed:
                session.has_changed = False
                news = await read(session.next_turn, number, stream.head)
                if news is None:
                    return
                if news.turn is not None:
                    number, turn, after = news.turn.number, news.turn.key, -1
                    called = CalledAgents(actor, row, turn, {})
                    stream.head = news.head
                    continue
            turn = None
            yield b""
            await session.wait_for_change()


async def _turn_frames(
    session: _Session, stream: SessionStream, turn: int, called: CalledAgents
) -> AsyncGenerator[bytes, None]:
    """Yield the frames of a turn. What the session said of itself when the turn was come upon is new enough for the
    turn's start."""
    is_quiet = True
    async with aclosing(live.follow(turn)) as source:
        while True:
            if called.may_call:
                following = asyncio.ensure_future(anext(source, None))
                async with aclosing(moments_beside(following)) as moments:
                    async for _ in moments:
                        yield await _news(stream, called)
                batch = following.result()
            else:
                batch = await anext(source, None)
            if batch is None:
                return
            for part in _parts(batch, called):
                if part.is_after_call:
                    yield await _news(stream, called)
                if isinstance(part.entries[0], _RENEWING):
                    session.has_changed = False
                    head = await read(session.head_after, stream.head)
                    if head is None:
                        return
                    stream.head = head
                yield stream.feed(part.entries)
            if is_quiet and not batch:
                yield b""
            is_quiet = not batch


async def _news(stream: SessionStream, called: CalledAgents) -> bytes:
    return b"".join([stream.subagent(*event) for event in await called.news()])


@dataclass(frozen=True, slots=True)
class _Part:
    """Entries that are encoded together; before those ``is_after_call`` sub-agents may have come or gone."""

    entries: list[Entry]
    is_after_call: bool


def _parts(batch: Sequence[Entry], called: CalledAgents) -> list[_Part]:
    """Cut a batch before each entry whose frames show the session, which is read anew for it, and before the ends of
    calls."""
    parts: list[_Part] = []
    for entry in batch:
        is_delta = isinstance(entry, Delta)  # nearly all are
        is_after_call = not is_delta and called.note(entry)
        if not parts or is_after_call or (not is_delta and isinstance(entry, _RENEWING)):
            parts.append(_Part([], is_after_call))
        parts[-1].entries.append(entry)
    return parts


@dataclass(frozen=True, slots=True)
class _News:
    """What a session says of itself when its next ``turn`` is come upon; None where there is none yet."""

    head: SessionHead
    turn: TurnPlace | None


class _Session:
    """A session and what changes of it, for an actor that may see it. ``has_changed`` is for the reader to reset."""

    def __init__(self, actor: Actor, row: StoredSession) -> None:
        self._actor, self._row = actor, row
        self.has_changed = self._agent_changed = False
        self._wakeup = asyncio.Event()

    def __enter__(self) -> _Session:
        self._unsubscribe = hub.subscribe(self._on_changes)
        return self

    def __exit__(self, *_: object) -> None:
        self._unsubscribe()

    def _on_changes(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        if (ChangeKind.SESSION, self._row.key) in records:
            self.has_changed = True
            self._wakeup.set()
        if self._row.agent is not None and (ChangeKind.AGENT, self._row.agent) in records:
            self._agent_changed = True

    async def wait_for_change(self) -> None:
        """Wait until something of the session has changed, or a keep-alive is due."""
        self._wakeup.clear()
        if not self.has_changed:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._wakeup.wait()

    def next_turn(self, number: int, head: SessionHead) -> _News | None:
        """Read what is new since the turn ``number``, where the session said ``head``; None where it was deleted."""
        is_there, place = sessions.next_turn(self._row.key, number)
        if not is_there:
            return None
        news = self.head_after(head) if place is not None else head
        return None if news is None else _News(news, place)

    def head_after(self, head: SessionHead) -> SessionHead | None:
        """Read what the session says of itself now, where it said ``head`` before; None where it was deleted. Its agent
        is read only if it may have changed: the rest changes with every turn."""
        row = sessions.of_key(self._actor, self._row.key, looking(self._actor))
        if row is None:
            return None
        before, self._row = self._row, row
        same_agent = row.agent is not None and (row.agent, row.revision) == (before.agent, before.revision)
        if same_agent and not self._agent_changed:
            return renewed_head(row, head)
        self._agent_changed = False
        return head_of(self._actor, row)
