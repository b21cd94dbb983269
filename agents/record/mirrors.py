"""Logs, in this process, of turns that run in others.

A *mirror* is filled by frames of the process that runs the turn, and by the store: at first, where a frame was lost,
and every half second where no frames come at all. All readers of a turn here share one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from agents.base.messaging.channel import MAX_BODY_BYTES, MessageChannel, NoMessageChannel
from agents.base.models.changes import ChangeKind
from agents.base.store import failures
from agents.record import frames
from agents.record.bus import Hub, TurnLog, hub
from agents.record.frames import Frame
from agents.record.models.choices import LIVE, TurnStatus
from agents.record.schemas.events import LAST_ORDINAL, Cursor, Delta, Entry, position
from agents.record.sharing import FRAMES_TOPIC, WATCH_TOPIC, Watched
from agents.record.stored_turns import DatabaseTurns, StoredTurns

log = logging.getLogger(__name__)

POLL_S = 0.5
"""How often the store is asked for a turn of which no frames come."""
WAITING_POLL_S = 5.0
"""The same of a turn that waits for its client, where messages get through: its next change is announced."""
SILENCE_S = 0.9
"""How long no frame may come before the store is asked."""
HEAL_S = 0.1
"""How long a mirror that lacks something waits before it asks again."""
RENEW_S = 2.5
"""How often a process says which turns it watches."""
KEEP_ALIVE_ROUNDS = 2
"""Every so many of these rounds all readers are woken, to send a keep-alive."""
MAX_TURNS_PER_MESSAGE = MAX_BODY_BYTES // 64


class _MirroredLog(TurnLog):
    """A log that goes on while its turn waits for its client: the next response is added to it."""

    def _ends_with(self, entry: Entry) -> bool:
        return not isinstance(entry, Delta) and entry.type == "turn.ended"


class Mirror:
    """The log of a turn that another process runs, or that waits; ``after`` is a cursor up to which the store was
    read. ``of`` are the mirrors that it is one of."""

    def __init__(self, turn: int, after: Cursor, of: Mirrors) -> None:
        self.log: TurnLog = _MirroredLog(turn, after)
        self.readers = 0
        self._turn, self._of = turn, of
        self._loop = asyncio.get_running_loop()
        self._heard_at = self._loop.time() if of.channel.is_working else float("-inf")
        self._looked_at = self._loop.time()
        self._lacks_entries = False
        self._has_changed = False
        self._is_waiting = False
        self._wakeup = asyncio.Event()
        self._task = self._loop.create_task(self._keep_up())
        of.ask(Watched(turn, after))

    def is_of(self, loop: asyncio.AbstractEventLoop) -> bool:
        return self._loop is loop

    def close(self) -> None:
        self._task.cancel()

    def take(self, frame: Frame) -> None:
        """Add what a frame brings, as far as it joins; what lacks then is read and asked for."""
        self._heard_at = self._loop.time()
        end = self.log.end
        if frame.before <= end:
            new = [entry for entry in frame.entries if position(entry) > end]
            self._append(new, frame.stored)
            if any(not isinstance(entry, Delta) for entry in new):
                self._has_changed = False
        lacked, self._lacks_entries = self._lacks_entries, frame.end > self.log.end
        if self._lacks_entries and not lacked:
            self._wakeup.set()

    def note_change(self) -> None:
        """Note that the turn was changed, as the change feed tells: by an event that a frame brings also, or by
        someone else than who runs it."""
        self._has_changed = True
        self._wakeup.set()

    def _append(self, entries: Sequence[Entry], stored: Cursor) -> None:
        if entries and not self.log.done:
            self.log.append(entries)
        self.log.mark_stored(min(stored, self.log.end))

    async def _keep_up(self) -> None:
        while not self.log.done:
            try:
                async with asyncio.timeout_at(self._next_look()):
                    await self._wakeup.wait()
            except TimeoutError:
                pass
            self._wakeup.clear()
            if self._next_look() <= self._loop.time():
                await self._look()

    def _next_look(self) -> float:
        """Return when the store is to be asked."""
        if self._lacks_entries:
            return self._looked_at + HEAL_S
        if self._has_changed:
            return max(self._heard_at, self._looked_at) + HEAL_S
        interval_s = WAITING_POLL_S if self._is_waiting and self._of.channel.is_working else POLL_S
        return max(self._heard_at + SILENCE_S, self._looked_at + interval_s)

    async def _look(self) -> None:
        """Read the store up to its end; ask the other process for what it does not have yet."""
        self._has_changed = False
        try:
            await self._read_on()
        except Exception as error:  # logged: readers wait, and the next look tries again
            if failures.classify(error) is None:
                log.exception("turn=%s: a turn of another process could not be read", self._turn)
        self._looked_at = self._loop.time()
        if self._looked_at - self._heard_at > SILENCE_S:
            self._lacks_entries = False  # who could give them does not answer: the store is asked at its pace
        if self._lacks_entries:
            self._of.ask(Watched(self._turn, self.log.end))

    async def _read_on(self) -> None:
        own_log = self._of.hub.get(self._turn)
        if own_log is not None and not own_log.done:
            self.log.wake()  # it runs here now: its readers go over to that log
            return
        while entries := await self._of.stored.window(self._turn, self.log.end):
            end = self.log.end  # frames may have come meanwhile
            self._append([entry for entry in entries if position(entry) > end], position(entries[-1]))
        state = await self._of.stored.state(self._turn)
        self._is_waiting = state is not None and state[0] == TurnStatus.AWAITING_INPUT
        is_over = state is None or (state[0] not in LIVE and not self._is_waiting)
        if is_over and (state is None or state[1] <= self.log.end[0] + 1):
            self.log.finish()


class Mirrors:
    """The mirrors of a process, by turn."""

    def __init__(self, hub: Hub, stored: StoredTurns) -> None:
        self.hub, self.stored = hub, stored
        self.channel: MessageChannel = NoMessageChannel("")
        self._mirrors: dict[int, Mirror] = {}
        self._ends: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None

    def start(self, channel: MessageChannel) -> None:
        """Get frames by this channel, on the running loop."""
        self.channel = channel
        self._ends = [channel.on(FRAMES_TOPIC, self._on_frames), self.hub.subscribe(self._on_change)]
        self._task = asyncio.create_task(self._renew())

    def stop(self) -> None:
        for end in self._ends:
            end()
        if self._task is not None:
            self._task.cancel()
        for mirror in self._mirrors.values():
            mirror.log.finish()
        self.channel = NoMessageChannel("")

    @contextmanager
    def watched(self, turn: int, after: Cursor) -> Iterator[Mirror]:
        """The mirror of a turn, for a reader that has read the store up to a cursor."""
        mirror = self._mirrors.get(turn)
        if mirror is None or mirror.log.done or not mirror.is_of(asyncio.get_running_loop()):
            # of a reader that has seen all deltas after an event nobody says how many these were
            start = after if after[1] < LAST_ORDINAL else (after[0], 0)
            mirror = self._mirrors[turn] = Mirror(turn, start, self)
        mirror.readers += 1
        try:
            yield mirror
        finally:
            mirror.readers -= 1
            if not mirror.readers:
                mirror.close()
                if self._mirrors.get(turn) is mirror:
                    del self._mirrors[turn]

    def ask(self, *watched: Watched) -> None:
        """Say which turns are watched, and what is lacking of them."""
        for first in range(0, len(watched), MAX_TURNS_PER_MESSAGE):
            body = msgspec.json.encode(watched[first : first + MAX_TURNS_PER_MESSAGE])
            self.channel.send(WATCH_TOPIC, body.decode())

    def _on_frames(self, sender: str, body: str) -> None:
        for frame in frames.decode(body):
            mirror = self._mirrors.get(frame.turn)
            if mirror is not None:
                mirror.take(frame)

    def _on_change(self, seq: int, records: Sequence[tuple[int, int]], told: int) -> None:
        if self._mirrors:
            for kind, key in records:
                if kind == ChangeKind.TURN and (mirror := self._mirrors.get(key)) is not None:
                    mirror.note_change()

    async def _renew(self) -> None:
        rounds = 0
        while True:
            await asyncio.sleep(RENEW_S)
            rounds += 1
            self.ask(*map(Watched, self._mirrors))
            if rounds % KEEP_ALIVE_ROUNDS == 0:
                for mirror in self._mirrors.values():
                    mirror.log.wake()


mirrors = Mirrors(hub, DatabaseTurns())
"""The process's mirrors."""
