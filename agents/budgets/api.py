"""``/v1/budgets``: budgets made, listed, changed and deleted."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.views import ApiView, answer
from agents.budgets.schemas import (
    BudgetDeleted,
    BudgetList,
    BudgetObject,
    CreateBudget,
    UpdateBudget,
)
from agents.budgets.store import changed_limits, new_budget
from agents.loop.schemas.turn_budget import NANO
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.store import budgets
from agents.record.store.budgets import BudgetRecord


def budget_object(record: BudgetRecord) -> BudgetObject:
    """Encode a budget."""
    state = record.state
    is_counted = state.period != BudgetPeriod.TURN
    return BudgetObject(
        id=record.public_id,
        name=state.name,
        owner=record.owner,
        user=record.target_id(BudgetTarget.USER),
        api_key_id=record.target_id(BudgetTarget.API_KEY),
        agent_id=record.target_id(BudgetTarget.AGENT),
        session_id=record.target_id(BudgetTarget.SESSION),
        period=state.period.label,
        window_seconds=None if state.window_us is None else state.window_us // 1_000_000,
        usd=None if state.limit_nano is None else state.limit_nano / NANO,
        tokens=state.limit_tokens,
        spent_usd=state.spent.cost_nano / NANO if is_counted else None,
        spent_tokens=state.spent.tokens if is_counted else None,
        is_reached=is_counted and state.is_reached,
        created_at=record.created_at // 1_000_000,
        updated_at=record.updated_at // 1_000_000,
    )


class Budgets(ApiView):
    """The budgets that the caller may see, and a new one."""

    actions = {"get": "read", "post": "manage"}

    @extend_schema(operation_id="list_budgets", parameters=CURSOR_PARAMETERS, responses=BudgetList)
    def get(self, request: Request) -> HttpResponseBase:
        records, has_more = budgets.page(self.actor, cursor(request._request))
        data = [budget_object(record) for record in records]
        first, last = (data[0].id, data[-1].id) if data else (None, None)
        return answer(BudgetList(data=data, first_id=first, last_id=last, has_more=has_more))

    @extend_schema(operation_id="create_budget", request=CreateBudget, responses=BudgetObject)
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateBudget = self.body(CreateBudget)
        return answer(budget_object(budgets.create(self.actor, new_budget(body))))


class BudgetDetail(ApiView):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_budget", responses=BudgetObject)
    def get(self, request: Request, budget_id: str) -> HttpResponseBase:
        return answer(budget_object(budgets.get(self.actor, budget_id)))

    @extend_schema(operation_id="update_budget", request=UpdateBudget, responses=BudgetObject)
    def post(self, request: Request, budget_id: str) -> HttpResponseBase:
        body: UpdateBudget = self.body(UpdateBudget)
        limits = changed_limits(budgets.get(self.actor, budget_id, "manage"), body)
        return answer(budget_object(budgets.change(self.actor, budget_id, name=body.name, limits=limits)))

    @extend_schema(operation_id="delete_budget", responses=BudgetDeleted)
    def delete(self, request: Request, budget_id: str) -> HttpResponseBase:
        """Delete a budget: what it has stopped may go on."""
        budgets.delete(self.actor, budget_id)
        return answer(BudgetDeleted(id=budget_id))
