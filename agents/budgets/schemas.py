"""Budgets on the wire: ``/v1/budgets``, which is ours. Dollars are decimal numbers, times seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from agents.base.schemas.wire import Wire, WireOutput, null_is
from agents.loop.schemas.turn_budget import Dollars, SpendingLimits, Tokens

MIN_WINDOW_S, MAX_WINDOW_S = 60, 366 * 86_400
TARGETS = ("user", "api_key_id", "agent_id", "session_id")

Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
Period = Literal["turn", "total", "window"]


class CreateBudget(SpendingLimits):
    """A limit of dollars (``usd``), of ``tokens``, or of both. It is for the one that is named, by ``user`` (a user's
    name), ``api_key_id``, ``agent_id`` or ``session_id``, or for the whole server. It limits each ``turn`` by itself,
    all in ``total`` since it was made (of a session: all), or a ``window`` of the last ``window_seconds``."""

    name: Annotated[Name, null_is("")] = ""
    user: str | None = None
    api_key_id: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    period: Annotated[Period, null_is("total")] = "total"
    window_seconds: Annotated[int, Field(ge=MIN_WINDOW_S, le=MAX_WINDOW_S)] | None = None

    @model_validator(mode="after")
    def _check_target_and_window(self) -> CreateBudget:
        if len([target for target in TARGETS if getattr(self, target) is not None]) > 1:
            raise ValueError(f"a budget is for one of {', '.join(TARGETS)}")
        if (self.period == "window") != (self.window_seconds is not None):
            raise ValueError("window_seconds is for a budget of the period window, which needs it")
        return self


class UpdateBudget(Wire):
    """What is left out stays; a limit of null is removed, as long as another one remains."""

    name: Name | None = None
    usd: Dollars | None = None
    tokens: Tokens | None = None


class BudgetObject(WireOutput):
    """A budget. What is spent of one for each turn is nothing that can be told: the turns say that. ``owner`` is the
    user who made it; only that user, and admins, can change it."""

    id: str
    object: Literal["budget"] = "budget"
    name: str
    owner: str
    user: str | None
    api_key_id: str | None
    agent_id: str | None
    session_id: str | None
    period: Period
    window_seconds: int | None
    usd: float | None
    tokens: int | None
    spent_usd: float | None
    spent_tokens: int | None
    is_reached: bool
    created_at: int
    updated_at: int


class BudgetList(WireOutput):
    object: Literal["list"] = "list"
    data: list[BudgetObject]
    first_id: str | None
    last_id: str | None
    has_more: bool


class BudgetDeleted(WireOutput):
    id: str
    object: Literal["budget.deleted"] = "budget.deleted"
    deleted: bool = True
