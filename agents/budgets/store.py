"""Reads what requests for budgets, of the API and of the page, name, and turns them into what is stored."""

from __future__ import annotations

from agents.base import ids
from agents.base.errors import InvalidRequest, NotFound
from agents.budgets.schemas import CreateBudget, UpdateBudget
from agents.loop.schemas.turn_budget import nano
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.store import budgets
from agents.record.store.budgets import BudgetRecord, Limits, NewBudget


def new_budget(body: CreateBudget) -> NewBudget:
    """Return the budget that a request asks for. Raises NotFound for a target that there is not."""
    target, key = _target(body)
    return NewBudget(
        target=target,
        key=key,
        period=BudgetPeriod[body.period.upper()],
        limits=Limits(nano(body.usd), body.tokens),
        window_us=None if body.window_seconds is None else body.window_seconds * 1_000_000,
        name=body.name,
    )


def _target(body: CreateBudget) -> tuple[BudgetTarget, int | None]:
    if body.user is not None:
        return BudgetTarget.USER, budgets.user_key(body.user)
    if body.api_key_id is not None:
        return BudgetTarget.API_KEY, budgets.api_key_key(body.api_key_id)
    if body.agent_id is not None:
        return BudgetTarget.AGENT, _key(ids.Kind.AGENT, body.agent_id, "Agent")
    if body.session_id is not None:
        return BudgetTarget.SESSION, _key(ids.Kind.SESSION, body.session_id, "Session")
    return BudgetTarget.SERVER, None


def _key(kind: ids.Kind, public_id: str, name: str) -> int:
    key = ids.parse_spelled(kind, public_id)
    if key is None:
        raise NotFound(f"{name} '{public_id[:80]}' not found.")
    return key


def changed_limits(record: BudgetRecord, body: UpdateBudget) -> Limits | None:
    """Return the limits after a change; None where they stay. Raises InvalidRequest where none would remain."""
    fields = body.model_fields_set
    if not fields & {"usd", "tokens"}:
        return None
    limits = Limits(
        nano(body.usd) if "usd" in fields else record.state.limit_nano,
        body.tokens if "tokens" in fields else record.state.limit_tokens,
    )
    if limits == Limits():
        message = "A budget keeps a limit, of dollars or of tokens; one that is not needed any more can be deleted."
        raise InvalidRequest(message, param="usd" if "usd" in fields else "tokens")
    return limits
