"""Finds places for responses: the process that is to run one, a slot of it, and something left of its budgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.errors import InvalidRequest
from agents.loop import spending
from agents.loop.loop import Loop
from agents.loop.run import Run
from agents.loop.sent_request import SentRequest
from agents.loop.slots import Slot
from agents.loop.spending import BudgetReached, ModelNames
from agents.loop.tasks import Runner
from agents.record.schemas.events import Event
from agents.record.store import spending as stored_spending
from agents.record.store.spending import Spender


@dataclass(frozen=True, slots=True)
class Place:
    """Where a response is to run: in a process, its ``owner``, in one of its slots; without a slot in any process that
    takes it. ``checks_first`` says that it begins no inference before it has looked at its budgets."""

    owner: str
    slot: Slot | None
    checks_first: bool = False

    @property
    def queued(self) -> bool:
        return self.slot is None or self.slot.queued

    def open(self, loop: Loop) -> list[Event]:
        """Return the first events of a response that begins a turn here."""
        return loop.open(queued=self.queued or self.checks_first)


@contextmanager
def find(
    runner: Runner, actor: Actor, agent: int | None, run: Run, *, needs_caller: bool, fails_later: bool = False
) -> Iterator[Place]:
    """Find a place for a response of an agent: a slot of this process, or none where it runs no turns. What needs
    data of its caller that is not stored has to run here. If the block fails, the slot is left; else the run
    leaves it. Raises RateLimited, also where nothing is left of a budget; a run that ``fails_later`` finds that out
    by itself."""
    checks_first = False
    try:
        spending.check(_spender(actor, agent, run), _names(run), run.budget)
    except (BudgetReached, InvalidRequest):
        if not fails_later:
            raise
        checks_first = True
    if not runner.role.runs and not needs_caller:
        yield Place("", None, checks_first)
        return
    with runner.slots.entered(actor, agent) as slot:
        yield Place(runner.owner, slot, checks_first)


@contextmanager
def find_for_turn(runner: Runner, actor: Actor, agent: int, run: Run, sent: SentRequest) -> Iterator[Place]:
    """Find a place for a new turn as `find` does; one that a turn which runs here has called takes no slot."""
    if sent.call is None:
        needs_caller, fails_later = bool(sent.provider_data), sent.fails_over_budget
        with find(runner, actor, agent, run, needs_caller=needs_caller, fails_later=fails_later) as place:
            yield place
        return
    spending.check_call(sent.call.parent, run.budget)
    spender = stored_spending.called_by(sent.call.parent, _spender(actor, agent, run))
    spending.check(spender, _names(run), run.budget)
    with runner.slots.beside(actor) as slot:
        yield Place(runner.owner, slot)


def _spender(actor: Actor, agent: int | None, run: Run) -> Spender:
    return Spender(actor.user_id, actor.key_id, agent, run.session, run.turn)


def _names(run: Run) -> ModelNames:
    return ModelNames(run.inference_model, run.model)
