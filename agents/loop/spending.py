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
from agents.loop.schemas.turn_budget import TurnBudget, nano
from agents.record.models.choices import BudgetPeriod
from agents.record.schemas.content import Usage
from agents.record.schemas.events import Entry, ErrorInfo, StepEnded
from agents.record.store import costs, spending
from agents.record.store.spending import BudgetState, LimitState, Spender, Spending

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


def refusal(
    spender: Spender, model: ModelNames, limits: TurnBudget | None = None, spent_by_turn: Spending | None = None
) -> ErrorInfo | None:
    """Return why no inference may begin for this spender; None where one may. ``limits`` are those of its request,
    which what its turn has spent does not exceed. ``spent_by_turn`` is that, where it is not stored. Blocking."""
    states = spending.states(spender, spent_by_turn)
    for state in states:
        if state.is_reached:
            return ErrorInfo(type=REACHED, message=reached_text(state), budget=state.target.label)
    own_usd = limits.usd if limits else None
    in_dollars = own_usd is not None or any(state.limit_nano is not None for state in states)
    if in_dollars and not spending.has_price(model.name, model.alias):
        message = f"A budget in dollars applies here, and the model '{model.alias or model.name}' has no price."
        return ErrorInfo(type=NOT_COUNTABLE, message=message)
    return None


def turn_refusal(turn: int, model: ModelNames, limits: TurnBudget | None = None) -> ErrorInfo | None:
    """Return why a stored turn may begin no inference: for the ``limits`` of its request, or as `refusal`. Blocking."""
    reached = None if limits is None else _limit_refusal(limits, spending.spent_by_tree(turn))
    if reached is not None or (limits is None and not spending.applies(spending.ANY)):
        return reached
    return refusal(spending.of_turn(turn), model, limits)


def _limit_refusal(limits: TurnBudget, spent: Spending) -> ErrorInfo | None:
    state = LimitState(nano(limits.usd), limits.tokens, spent)
    if not state.is_reached:
        return None
    return ErrorInfo(type=REACHED, message=f"The budget of this turn is reached: {spent_text(state)}.", budget="turn")


def spender_of(actor: Actor) -> Spender:
    """Return whose budgets a request without an agent and a session has to keep to."""
    return Spender(actor.user_id, actor.key_id)


def check(spender: Spender, model: ModelNames, limits: TurnBudget | None = None) -> None:
    """Raise BudgetReached where no inference may begin for this spender; InvalidRequest for a model whose cost cannot
    be counted, where a budget or the ``limits`` of a request need that. Blocking."""
    refused = refusal(spender, model, limits)
    if refused is None:
        return
    if refused.type == NOT_COUNTABLE:
        raise InvalidRequest(refused.message, param="model", code=NOT_COUNTABLE)
    raise BudgetReached(refused.message)


def check_call(caller: int, limits: TurnBudget | None) -> None:
    """Raise BudgetReached where the turn ``caller`` may call no agent: for the ``limits`` of its request. Blocking."""
    reached = None if limits is None else _limit_refusal(limits, spending.spent_by_tree(caller))
    if reached is not None:
        raise BudgetReached(reached.message)


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
    limits: TurnBudget | None = None
    _spent: Spending = field(default_factory=Spending)

    async def refusal(self) -> ErrorInfo | None:
        """Return why the run may begin no inference, if so."""
        reached = None if self.limits is None else _limit_refusal(self.limits, self._spent)
        if reached is not None or self._is_free:
            return reached
        return await read(refusal, self.spender, self.model, self.limits, self._spent)

    async def count(self, entry: Entry) -> None:
        """Add what a step has spent, if this is the end of one."""
        if isinstance(entry, StepEnded) and entry.usage is not None and not self._is_free:
            self._spent += await read(_add, self.spender, self.model, entry.usage, entry.at)

    @property
    def _is_free(self) -> bool:
        """Whether nothing limits the run, as far as this process knows."""
        return self.limits is None and spending.is_idle()


# ------------------------------------------------------------------------------------------ words


def reached_text(state: BudgetState) -> str:
    """Return the sentence that says that a budget is reached, and how far."""
    name = f"The budget '{state.name}'" if state.name else "The budget"
    return f"{name} of this {state.target.label.replace('_', ' ')} is reached: {spent_text(state)}{_time(state)}."


def spent_text(state: LimitState) -> str:
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
