"""The types of events: a table. A type is added by a line here, a line in `agents.webhooks.pages`, which says in words
when it is sent, and a row in docs/webhooks.md."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EventType:
    """``number`` stands for it in the tables (in those of endpoints as a bit), below 63, and never changes; ``name`` is
    the one on the wire; ``subject`` is what its data describe."""

    number: int
    name: str
    subject: Literal["turn", "response", "session"]

    @property
    def bit(self) -> int:
        return 1 << self.number


TURN_COMPLETED = EventType(0, "turn.completed", "turn")
TURN_FAILED = EventType(1, "turn.failed", "turn")
TURN_CANCELLED = EventType(2, "turn.cancelled", "turn")
TURN_INTERRUPTED = EventType(3, "turn.interrupted", "turn")
TURN_AWAITING_INPUT = EventType(4, "turn.awaiting_input", "turn")
TURN_IN_DOUBT = EventType(5, "turn.in_doubt", "turn")
RESPONSE_COMPLETED = EventType(10, "response.completed", "response")
RESPONSE_FAILED = EventType(11, "response.failed", "response")
RESPONSE_CANCELLED = EventType(12, "response.cancelled", "response")
RESPONSE_INCOMPLETE = EventType(13, "response.incomplete", "response")
SESSION_IDLE = EventType(20, "agent.session.idle", "session")
SESSION_ACTION_REQUIRED = EventType(21, "agent.session.action_required", "session")

EVENT_TYPES = (
    *(TURN_COMPLETED, TURN_FAILED, TURN_CANCELLED, TURN_INTERRUPTED, TURN_AWAITING_INPUT, TURN_IN_DOUBT),
    *(RESPONSE_COMPLETED, RESPONSE_FAILED, RESPONSE_CANCELLED, RESPONSE_INCOMPLETE),
    *(SESSION_IDLE, SESSION_ACTION_REQUIRED),
)
"""All of them, in the order of lists."""
BY_NAME = {kind.name: kind for kind in EVENT_TYPES}
BY_NUMBER = {kind.number: kind for kind in EVENT_TYPES}


def mask_of(names: Iterable[str]) -> int:
    """Return the bits of these types. Raises KeyError for a name that is none."""
    mask = 0
    for name in names:
        mask |= BY_NAME[name].bit
    return mask


def names_in(mask: int) -> list[str]:
    """Return the names of the types whose bits are set; bits of a newer version are left out."""
    return [kind.name for kind in EVENT_TYPES if mask & kind.bit]
