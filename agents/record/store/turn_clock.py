"""The time of a turn: what it worked, and what it waited for a person or its client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class TurnClock:
    """When a turn began, for how long it has waited so far, and since when it waits; microseconds. ``waited_us`` is
    None for a turn that never waited, ``waiting_us`` for one that does not."""

    started_us: int
    waited_us: int | None = None
    waiting_us: int | None = None

    def wait(self, at_us: int) -> None:
        """Begin to wait."""
        self.waiting_us = at_us

    def go_on(self, at_us: int) -> None:
        """End the wait, if there is one."""
        if self.waiting_us is not None:
            self.waited_us = (self.waited_us or 0) + max(at_us - self.waiting_us, 0)
            self.waiting_us = None

    def worked_us(self, at_us: int) -> int:
        """Return the time from the beginning until then, without the waits that are over."""
        return max(at_us - self.started_us - (self.waited_us or 0), 0)

    def columns(self) -> dict[str, Any]:
        """Build the columns of the turn's row."""
        return {"waited_us": self.waited_us, "waiting_at": self.waiting_us}
