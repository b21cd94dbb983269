"""Slots for running turns, and the line before them: everybody's share is fair, and within it every agent's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import Shares
from agents.base.shares import Slot as Slot

RETRY_AFTER_S = 5


class Slots:
    """All of a process. May be asked from any thread."""

    def __init__(self, running: int, waiting: int) -> None:
        self._turns = _Turns(running, waiting)
        self.leave, self.when_granted = self._turns.leave, self._turns.when_granted

    @contextmanager
    def entered(self, actor: Actor, agent: int | None) -> Iterator[Slot]:
        """A slot for a turn of an agent, at once or in line; it is left where the block fails, and else the
        run's to leave. Raises RateLimited where the caller has too many in line already."""
        with self._turns.entered(actor.caller, agent) as slot:
            yield slot

    @contextmanager
    def held(self, actor: Actor) -> Iterator[None]:
        """A slot for as long as the block lasts, for what cannot wait in line. Raises RateLimited."""
        slot = self._turns.enter(actor.caller, may_wait=False)
        try:
            yield
        finally:
            self._turns.leave(slot)


class _Turns(Shares):
    """What a slot is a place of."""

    def refusal(self, held: int, waiting: int) -> RateLimited:
        words = f"You have {held} turns running and {waiting} in line: no more now."
        return RateLimited(words, code="too_many_turns", headers={"Retry-After": str(RETRY_AFTER_S)})


__all__ = ["Slot", "Slots"]
