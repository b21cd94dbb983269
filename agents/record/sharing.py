"""Sends the logs of turns that run in this process to the processes that watch them.

Nothing is sent of a turn that nobody else watches. A process says every few seconds which turns it watches, and when
it begins or has lost something, from which cursor on it needs them. What it then gets are frames, one every
`FRAME_S` at most, and where nothing happens the position of the log: by its silence a watcher knows that messages
do not get through.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from agents.base.messaging.channel import MAX_BODY_BYTES, MessageChannel
from agents.record import frames
from agents.record.bus import Hub
from agents.record.frames import Frame
from agents.record.schemas.events import START, Cursor

log = logging.getLogger(__name__)

WATCH_TOPIC, FRAMES_TOPIC = "watch", "frames"
FRAME_S = 0.02
"""The shortest time between two messages with frames: tokens of that time travel together."""
POSITION_S = 0.4
"""How often a watcher hears at least how far a log goes."""
WATCH_S = 8.0
"""For how long a process counts as watching a turn after it said so."""
MAX_ENTRIES = 4_096
"""Entries that are sent at once; a watcher further behind reads the store."""


class Watched(msgspec.Struct, array_like=True):
    """Says that a process watches a turn; with a cursor, that it needs what is after it."""

    turn: int
    after: Cursor | None = None


read_watched = msgspec.json.Decoder(list[Watched]).decode


class _Watcher:
    """A process that watches a turn: until when, and what it was sent."""

    def __init__(self) -> None:
        self.until = 0.0
        self.sent: Cursor | None = None
        self.sent_at = float("-inf")


class LogSharing:
    """The watchers of this process's turns. It belongs to one event loop."""

    def __init__(self, channel: MessageChannel, hub: Hub) -> None:
        self._channel, self._hub = channel, hub
        self._watchers: dict[int, dict[str, _Watcher]] = {}
        self._changed: set[int] = set()
        self._loop = asyncio.get_running_loop()
        self._sent_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._position_timer: asyncio.TimerHandle | None = None
        self._ends: list[Callable[[], None]] = []

    def start(self) -> None:
        self._ends = [
            self._channel.on(WATCH_TOPIC, self._on_watch),
            self._hub.listen_to_logs(self._on_entries),
        ]
        self._position_timer = self._loop.call_later(POSITION_S, self._send_positions)

    def stop(self) -> None:
        for end in self._ends:
            end()
        for timer in (self._timer, self._position_timer):
            if timer is not None:
                timer.cancel()

    def _on_watch(self, process: str, body: str) -> None:
        until = self._loop.time() + WATCH_S
        for watched in read_watched(body):
            watcher = self._watchers.setdefault(watched.turn, {}).setdefault(process, _Watcher())
            watcher.until = until
            if watched.after is not None or watcher.sent is None:
                watcher.sent, watcher.sent_at = watched.after or START, float("-inf")
                self._on_entries(watched.turn)

    def _on_entries(self, turn: int) -> None:
        """Send what is new in a turn's log, at once or as soon as `FRAME_S` have passed since the last time."""
        if turn not in self._watchers:
            return
        self._changed.add(turn)
        if self._timer is None:
            self._timer = self._loop.call_later(max(self._sent_at + FRAME_S - self._loop.time(), 0), self._send)

    def _send(self) -> None:
        self._timer, self._sent_at = None, self._loop.time()
        turns, self._changed = self._changed, set()
        by_process: dict[str, list[Frame]] = {}
        for turn in turns:
            for process, watcher in self._watchers.get(turn, {}).items():
                frame = self._next_frame(turn, watcher)
                if frame is not None:
                    by_process.setdefault(process, []).append(frame)
        for process, ready in by_process.items():
            self._send_frames(process, ready)

    def _next_frame(self, turn: int, watcher: _Watcher) -> Frame | None:
        """Return what a watcher lacks; None where the turn does not run here, or there is nothing new."""
        turn_log = self._hub.get(turn)
        if turn_log is None or watcher.sent is None:
            return None
        before, watcher.sent = watcher.sent, max(watcher.sent, turn_log.end)
        is_first, watcher.sent_at = watcher.sent_at == float("-inf"), self._loop.time()
        entries = turn_log.entries_after(before, MAX_ENTRIES + 1)
        if entries is None or len(entries) > MAX_ENTRIES:
            return Frame(turn, before, watcher.sent, turn_log.stored)
        if not entries and not is_first:
            return None
        return Frame(turn, before, watcher.sent, turn_log.stored, entries)

    def _send_frames(self, process: str, ready: Sequence[Frame]) -> None:
        try:
            messages = list(frames.encode(ready, MAX_BODY_BYTES))
        except ValueError:  # a text that is none; the store says what it takes of it
            log.warning("a piece of a log could not be sent to another process", exc_info=True)
            return
        for message in messages:
            self._channel.send(FRAMES_TOPIC, message, process)

    def _send_positions(self) -> None:
        """Tell watchers that have heard nothing for a while how far the logs are, and forget those that are gone."""
        now = self._loop.time()
        self._position_timer = self._loop.call_later(POSITION_S, self._send_positions)
        by_process: dict[str, list[Frame]] = {}
        for turn, watchers in list(self._watchers.items()):
            for process, watcher in list(watchers.items()):
                if watcher.until < now:
                    del watchers[process]
                elif (position := self._position(turn, watcher, now)) is not None:
                    by_process.setdefault(process, []).append(position)
            if not watchers:
                del self._watchers[turn]
        for process, ready in by_process.items():
            self._send_frames(process, ready)

    def _position(self, turn: int, watcher: _Watcher, now: float) -> Frame | None:
        turn_log = self._hub.get(turn)
        if turn_log is None or turn_log.done or watcher.sent is None or watcher.sent_at > now - POSITION_S:
            return None
        return Frame(turn, turn_log.end, turn_log.end, turn_log.stored)
