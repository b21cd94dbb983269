"""The page of budgets, and the part of a session's or an agent's page that shows theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from pydantic import BaseModel, ValidationError

from agents.base.access import Actor, require
from agents.base.api.cursors import cursor
from agents.base.errors import AgentsError, InvalidRequest
from agents.budgets.schemas import CreateBudget, UpdateBudget
from agents.budgets.store import changed_limits, new_budget
from agents.loop.schemas.turn_budget import NANO
from agents.record.models.choices import BudgetPeriod, BudgetTarget
from agents.record.store import budgets
from agents.record.store.budgets import BudgetRecord
from agents.uikit import format
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at
from agents.uikit.templates import fragment

B = TypeVar("B", bound=BaseModel)
PAGE_SIZE = 50
WARNS_AT = 0.8
"""The part of a budget from which the page warns of it."""
HOURS = (1, 24, 24 * 7, 24 * 30)
"""The windows that the form offers."""
HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Meter:
    """A limit, and what is spent of it, both as text; ``level`` is ``ok``, ``near`` or ``reached``, ``share`` a number
    from 0 to 1."""

    spent: str
    limit: str
    share: float
    level: str


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """A budget as it is shown: whose it is, with a link where there is a page of that; the time it is for."""

    record: BudgetRecord
    target: str
    target_url: str
    time: str
    meters: list[Meter]
    usd: str
    tokens: str


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def budget_list(request: PageRequest) -> HttpResponse:
    """Render the budgets; a POST makes one."""
    if request.method != "POST":
        return _list(request)
    require(request.actor, "manage")
    try:
        budgets.create(request.actor, new_budget(_parsed(CreateBudget, _form_values(request))))
    except AgentsError as error:
        return _list(request, error=error, status=error.status)
    messages.success(request, _("The budget holds from now on."))
    return redirect("budgets")


def _list(request: PageRequest, *, error: AgentsError | None = None, status: int = 200) -> HttpResponse:
    records, has_more = budgets.page(request.actor, cursor(request, PAGE_SIZE))
    sent_values = request.POST if error else request.GET
    context = {
        "rows": [_row(record) for record in records],
        "older": records[-1].public_id if has_more else "",
        "error": error,
        "form": {name: sent_values.get(name, "")[:300] for name in _FIELDS},
        "windows": [(str(hours), _window(hours * HOUR_US)) for hours in HOURS],
        "is_admin": request.actor.is_admin,
        "own_name": request.actor.name,
        "may_manage": "manage" in request.actor.actions,
    }
    return render(request, "budgets/budgets.html", context, status=status)


@page("manage")
@require_POST
def change(request: PageRequest, budget_id: str) -> HttpResponse:
    """Change the limits of a budget."""
    try:
        sent = {name: request.POST.get(name, "").strip() for name in ("usd", "tokens")}
        parsed = _parsed(UpdateBudget, {name: value for name, value in sent.items() if value})
        body = UpdateBudget(usd=parsed.usd, tokens=parsed.tokens)  # an empty field removes its limit
        limits = changed_limits(budgets.get(request.actor, budget_id, "manage"), body)
        budgets.change(request.actor, budget_id, limits=limits)
    except InvalidRequest as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The budget is changed."))
    return redirect("budgets")


@page("manage")
@require_POST
def delete(request: PageRequest, budget_id: str) -> HttpResponse:
    budgets.delete(request.actor, budget_id)
    messages.success(request, _("The budget is deleted."))
    return redirect("budgets")


def section(actor: Actor, target: BudgetTarget, key: int) -> str:
    """Return the part of a page that shows the budgets of its session or agent."""
    if "read" not in actor.actions:
        return ""
    rows = [_row(record) for record in budgets.of_target(actor, target, key)]
    return fragment("budgets/_section.html", rows=rows) if rows else ""


# ------------------------------------------------------------------------------------------- rows


def _row(record: BudgetRecord) -> BudgetRow:
    state = record.state
    return BudgetRow(
        record=record,
        target=record.target_name or record.target_id(state.target) or "",
        target_url=_target_url(record),
        time=_time(record),
        meters=_meters(record),
        usd="" if state.limit_nano is None else f"{state.limit_nano / NANO:.9f}".rstrip("0").rstrip("."),
        tokens="" if state.limit_tokens is None else str(state.limit_tokens),
    )


def _target_url(record: BudgetRecord) -> str:
    if agent := record.target_id(BudgetTarget.AGENT):
        return at(f"/agents/{agent}/")
    if session := record.target_id(BudgetTarget.SESSION):
        return at(f"/sessions/{session}/")
    return ""


def _time(record: BudgetRecord) -> str:
    state = record.state
    match state.period:
        case BudgetPeriod.TURN:
            return _("each turn")
        case BudgetPeriod.TOTAL:
            return _("in total")
        case BudgetPeriod.WINDOW:
            return _window(state.window_us or 0)


def _window(window_us: int) -> str:
    """Return the words for a time that ends now."""
    hours, remainder = divmod(window_us, HOUR_US)
    if remainder:
        return _("the last %(time)s") % {"time": format.duration(window_us / 1000)}
    if hours >= 48 and not hours % 24:
        return ngettext("the last %(n)s day", "the last %(n)s days", hours // 24) % {"n": format.count(hours // 24)}
    return ngettext("the last %(n)s hour", "the last %(n)s hours", hours) % {"n": format.count(hours)}


def _meters(record: BudgetRecord) -> list[Meter]:
    state, is_counted = record.state, record.state.period != BudgetPeriod.TURN
    meters = []
    if state.limit_nano is not None:
        spent, limit = state.spent.cost_nano, state.limit_nano
        meters.append(_meter(spent, limit, format.cost(spent / NANO), format.cost(limit / NANO), is_counted))
    if state.limit_tokens is not None:
        spent, limit = state.spent.tokens, state.limit_tokens
        limit_text = _("%(count)s tokens") % {"count": format.count(limit)}
        meters.append(_meter(spent, limit, format.count(spent), limit_text, is_counted))
    return meters


def _meter(spent: int, limit: int, spent_text: str, limit_text: str, is_counted: bool) -> Meter:
    if not is_counted:
        return Meter("", limit_text, 0, "ok")
    share = min(spent / limit, 1)
    level = "reached" if spent >= limit else "near" if share >= WARNS_AT else "ok"
    return Meter(spent_text, limit_text, round(share, 4), level)


# ------------------------------------------------------------------------------------------- forms

_FIELDS = ("name", "target", "target_id", "period", "usd", "tokens")
_TARGETS = ("user", "api_key_id", "agent_id", "session_id")


def _form_values(request: PageRequest) -> dict[str, str]:
    """Return the values of the form as the API has them."""
    sent = {name: request.POST.get(name, "").replace("\0", "").strip() for name in _FIELDS}
    values = {name: sent[name] for name in ("name", "usd", "tokens") if sent[name]}
    if sent["target"] in _TARGETS:
        if not sent["target_id"]:
            raise InvalidRequest(_("Choose who the budget is for."), param="target_id")
        values[sent["target"]] = sent["target_id"]
    elif sent["target"] != "server":
        values["user"] = request.actor.name
    if sent["period"] in map(str, HOURS):
        return {**values, "period": "window", "window_seconds": str(int(sent["period"]) * 3600)}
    return {**values, "period": sent["period"] if sent["period"] == "turn" else "total"}


def _parsed(model: type[B], values: dict[str, str]) -> B:
    """Parse the values of a form, which are texts. Raises InvalidRequest in the reader's language."""
    try:
        return model.model_validate_strings(values, strict=False)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else "usd"
        if field == "name":
            raise InvalidRequest(_("A name has at most 200 characters."), param=field) from None
        message = _("A budget needs a limit: dollars above 0, a whole number of tokens, or both.")
        raise InvalidRequest(message, param=field) from None
