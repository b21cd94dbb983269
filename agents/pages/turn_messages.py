"""The messages that a turn was started with, by pages: a client may send all of a long conversation with each turn."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from agents.pages.step_details import StoredMessage

PAGE_MESSAGES = 100
"""Messages on a page of a turn's input."""


@dataclass(frozen=True, slots=True)
class TurnMessages:
    """Some of a turn's input messages: those from number ``first`` on, of ``total``."""

    first: int
    total: int
    messages: tuple[StoredMessage, ...]

    @property
    def end(self) -> int:
        return self.first + len(self.messages)

    @property
    def is_whole(self) -> bool:
        return len(self.messages) == self.total


NO_MESSAGES = TurnMessages(0, 0, ())


def message_page(body: bytes, start: int | None = None, count: int = PAGE_MESSAGES) -> TurnMessages:
    """Return ``count`` input messages from number ``start`` on, by default the last; none if they cannot be read. Only
    these are decoded."""
    try:
        raw = msgspec.json.decode(body, type=list[msgspec.Raw])
        last = max(len(raw) - count, 0)
        first = last if start is None else min(start, last)
        listed = raw[first : first + count]
        return TurnMessages(first, len(raw), tuple(msgspec.json.decode(item, type=StoredMessage) for item in listed))
    except (msgspec.MsgspecError, RecursionError):
        return NO_MESSAGES
