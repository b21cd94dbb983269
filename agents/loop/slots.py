"""Slots for running turns and their queue: each caller has a fair share, and within it each agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agents.base.access import Actor
from agents.base.errors import RateLimited
from agents.base.shares import Shares
from agents.base.shares import Slot as Slot

RETRY_AFTER_S = 5


class Slots:
    """The slots of a process. Thread-safe."""

    def __init__(self, running: int, waiting: int) -> None:
        self._turns = _TurnShares(running, waiting)
        self.leave, self.when_granted = self._turns.leave, self._turns.when_granted

    @contextmanager
    def entered(self, actor: Actor, agent: int | None) -> Iterator[Slot]:
        """Enter a slot or its queue for a turn of an agent. If the block fails, the slot is left; else the run
        leaves it. Raises RateLimited if the caller has too many turns in the queue."""
        with self._turns.entered(actor.caller, agent) as slot:
            yield slot

    @contextmanager
    def entered_at_once(self, actor: Actor, agent: int | None) -> Iterator[Slot]:
        """Enter a slot as `entered` does. Raises RateLimited where none is free for this caller."""
        with self._turns.entered(actor.caller, agent, may_wait=False) as slot:
            yield slot

    @contextmanager
    def beside(self, actor: Actor) -> Iterator[Slot]:
        """Enter without taking a slot, for a turn that another one waits for: that holds one."""
        yield Slot(actor.caller, granted=True, released=True)

    @contextmanager
    def hold(self, actor: Actor) -> Iterator[None]:
        """Hold a slot for the duration of the block, for a run that cannot be queued. Raises RateLimited."""
        slot = self._turns.enter(actor.caller, may_wait=False)
        try:
            yield
        finally:
            self._turns.leave(slot)


class _TurnShares(Shares):
    """The shares of callers in the slots for turns."""

    def refusal(self, running: int, waiting: int) -> RateLimited:
        message = f"You have {running} turns running and {waiting} in line: no more now."
        return RateLimited(message, code="too_many_turns", headers={"Retry-After": str(RETRY_AFTER_S)})


__all__ = ["Slot", "Slots"]
