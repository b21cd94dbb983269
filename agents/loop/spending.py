"""Checks budgets before each inference, with what is known to be spent by then.

An inference that has begun is never stopped: a budget is overspent by those under way. A turn that may spend no more
ends as failed, with the error ``budget_reached``; a request is refused before anything is stored of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, RateLimited
from agents.base.reading import read
from agents.loop.inference.base import Chunk, Finish
from agents.record.models.choices import BudgetPeriod
from agents.record.schemas.content import Usage
from agents.record.schemas.events import Entry, ErrorInfo, StepEnded
from agents.record.store import costs, spending
from agents.record.store.spending import BudgetState, Spender, Spending

REACHED = "budget_reached"
NOT_COUNTABLE = "model_not_budgetable"
HOUR_US = 3_600_000_000


class BudgetReached(RateLimited):
    """There is nothing left of a budget. Clients are told in OpenAI's word for it, and not to try again."""

    type = "insufficient_quota"
    code = "insufficient_quota"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"x-should-retry": "false"})


@dataclass(frozen=True, slots=True)
class ModelNames:
    """The names that a model's price may have: that of its endpoint, and the caller's."""

    name: str
    alias: str = ""


def refusal(spender: Spender, model: ModelNames, spent_by_turn: Spending | None = None) -> ErrorInfo | None:
    """Return why no inference may begin for this spender; None where one may. ``spent_by_turn`` is what its turn has
    spent so far, where that is not stored. Blocking."""
    states = spending.states(spender, spent_by_turn)
    for state in states:
        if state.is_reached:
            return ErrorInfo(type=REACHED, message=reached_text(state), budget=state.target.label)
    if any(state.limit_nano is not None for state in states) and not spending.has_price(model.name, model.alias):
        message = f"A budget in dollars applies here, and the model '{model.alias or model.name}' has no price."
        return ErrorInfo(type=NOT_COUNTABLE, message=message)
    return None


def turn_refusal(turn: int, model: ModelNames) -> ErrorInfo | None:
    """Return why a stored turn may begin no inference, as `refusal` does. Blocking."""
    return refusal(spending.of_turn(turn), model) if spending.applies(spending.ANY) else None


def spender_of(actor: Actor) -> Spender:
    """Return whose budgets a request without an agent and a session has to keep to."""
    return Spender(actor.user_id, actor.key_id)


def check(spender: Spender, model: ModelNames) -> None:
    """Raise BudgetReached where no inference may begin for this spender; InvalidRequest for a model whose cost cannot
    be counted. Blocking."""
    refused = refusal(spender, model)
    if refused is None:
        return
    if refused.type == NOT_COUNTABLE:
        raise InvalidRequest(refused.message, param="model", code=NOT_COUNTABLE)
    raise BudgetReached(refused.message)


async def check_later(spender: Spender, model: ModelNames) -> None:
    """Do as `check` does, from the event loop."""
    if not spending.is_idle():
        await read(check, spender, model)


async def add(spender: Spender, model: ModelNames, usage: Usage | None, at_us: int) -> None:
    """Add what an inference has spent that no turn is stored of."""
    if usage is not None and not spending.is_idle():
        await read(_add, spender, model, usage, at_us)


def _add(spender: Spender, model: ModelNames, usage: Usage, at_us: int) -> Spending:
    """Add what an inference has spent, and return it. Blocking."""
    cost_nano, _ = costs.cost(model.name, usage, at_us, model.alias)
    spent = Spending.of(usage, cost_nano)
    spending.add(spender, spent)
    return spent


async def counted(chunks: AsyncIterator[Chunk], spender: Spender, model: ModelNames) -> AsyncIterator[Chunk]:
    """Yield the chunks of an inference that nothing is stored of, after a check of the budgets; what it has spent is
    added. Raises as `check`."""
    await check_later(spender, model)
    async for chunk in chunks:
        if isinstance(chunk, Finish):
            await add(spender, model, chunk.usage, ids.now_us())
        yield chunk


@dataclass(slots=True)
class UnrecordedSpending:
    """Checks budgets for a run that nothing is stored of, and counts what it spends."""

    spender: Spender
    model: ModelNames
    _spent: Spending = field(default_factory=Spending)

    async def refusal(self) -> ErrorInfo | None:
        """Return why the run may begin no inference, if so."""
        return None if spending.is_idle() else await read(refusal, self.spender, self.model, self._spent)

    async def count(self, entry: Entry) -> None:
        """Add what a step has spent, if this is the end of one."""
        if isinstance(entry, StepEnded) and entry.usage is not None and not spending.is_idle():
            self._spent += await read(_add, self.spender, self.model, entry.usage, entry.at)


# ------------------------------------------------------------------------------------------ words


def reached_text(state: BudgetState) -> str:
    """Return the sentence that says that a budget is reached, and how far."""
    name = f"The budget '{state.name}'" if state.name else "The budget"
    return f"{name} of this {state.target.label.replace('_', ' ')} is reached: {spent_text(state)}{_time(state)}."


def spent_text(state: BudgetState) -> str:
    """Return what is spent of what, of the limit that is reached."""
    if state.limit_nano is not None and state.spent.cost_nano >= state.limit_nano:
        return f"{_dollars(state.spent.cost_nano)} of {_dollars(state.limit_nano)}"
    return f"{state.spent.tokens:,} of {state.limit_tokens or 0:,} tokens"


def _dollars(nano: int) -> str:
    return f"${nano / 1e9:,.4f}".rstrip("0").rstrip(".")


def _time(state: BudgetState) -> str:
    if state.period == BudgetPeriod.TURN:
        return " in this turn"
    if state.window_us is None:
        return ""
    hours, remainder = divmod(state.window_us, HOUR_US)
    return f" in {hours:,} h" if not remainder else f" in {state.window_us // 60_000_000:,} min"
