"""The pages of automations: one's own, and of each what became of its times, with the turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agents.automations.runner import changes
from agents.automations.schemas.automations import CreateAutomation, UpdateAutomation
from agents.automations.schemas.records import AutomationRecord, RunRecord
from agents.automations.store import automations, runs
from agents.automations.store.automations import MAX_AUTOMATIONS
from agents.base import ids
from agents.base.access import require
from agents.base.api.cursors import cursor
from agents.base.errors import AgentsError, InvalidRequest
from agents.openai_agents.runner.sessions import messages_of
from agents.openai_agents.schemas.sessions import UserInput
from agents.record.schemas.content import text_of
from agents.record.store import agents
from agents.uikit import forms
from agents.uikit.access import PageRequest, page
from agents.uikit.links import at

PAGE_SIZE = 50
MAX_CHOICES = 200
"""Agents that are offered in a list; where there are more, the id is typed."""
_FIELDS = {
    "name": gettext_noop("A name of at most 200 characters is required."),
    "expression": gettext_noop("Five fields are required: minute, hour, day of the month, month, day of the week."),
    "timezone": gettext_noop("A time zone is required, such as Europe/Berlin or UTC."),
    "target": gettext_noop("An agent and a message are required."),
}
"""What is said where the form's value of a field is refused."""
_FORM = ("name", "expression", "timezone", "agent_id", "input")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in the list, with the links to its turn and session; empty where there are none."""

    run: RunRecord
    turn_url: str
    session_url: str


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def automation_list(request: PageRequest) -> HttpResponse:
    """Render the automations; a POST makes one."""
    if request.method != "POST":
        return _list(request)
    require(request.actor, "manage")
    form = _form_of(request)
    try:
        record = changes.create(request.actor, forms.parsed(CreateAutomation, _values(form), _FIELDS))
    except AgentsError as error:
        return _list(request, error=error, status=error.status)
    messages.success(request, _("It is active from now on."))
    return redirect("automation", record.public_id)


def _list(request: PageRequest, *, error: AgentsError | None = None, status: int = 200) -> HttpResponse:
    records, _more = automations.page(request.actor, cursor(request, MAX_AUTOMATIONS))
    empty = {"name": "", "expression": "0 9 * * mon-fri", "timezone": "UTC", "input": ""}
    empty["agent_id"] = request.GET.get("agent_id", "")[:100]
    context = {
        "automations": records,
        "has_times": True,
        "error": error,
        "form": _form_of(request) if error else empty,
        "agents": _agents(request),
        "shows_owner": request.actor.is_admin,
        "may_manage": "manage" in request.actor.actions,
    }
    return render(request, "automations/automations.html", context, status=status)


def _agents(request: PageRequest) -> list[tuple[str, str]]:
    """Return (name, public id) of the agents to choose from; none where they are too many for a list."""
    choices = agents.runnable(request.actor)
    return choices if len(choices) <= MAX_CHOICES else []


@page("read")
@never_cache
@require_http_methods(["GET", "HEAD"])
def automation_page(request: PageRequest, automation_id: str) -> HttpResponse:
    return _detail(request, automations.get(request.actor, automation_id))


def _detail(
    request: PageRequest, record: AutomationRecord, *, error: AgentsError | None = None, status: int = 200
) -> HttpResponse:
    records, has_more = runs.page(record, cursor(request, PAGE_SIZE))
    schedule = record.schedule
    stored = {"name": record.name, "expression": schedule.expression, "timezone": schedule.timezone}
    context = {
        "automation": record,
        "has_times": record.is_periodic,
        "error": error,
        "form": _form_of(request) if error else stored,
        "said": _said(record),
        "agent_url": _agent_url(record),
        "session_url": _session_url(record.target.session),
        "rows": [_row(run) for run in records],
        "older": records[-1].public_id if has_more else "",
        "may_manage": "manage" in request.actor.actions,
        "may_run": "run" in request.actor.actions,
    }
    return render(request, "automations/automation.html", context, status=status)


def _said(record: AutomationRecord) -> str:
    """Return what an automation says each time."""
    target = record.target.body
    if target["type"] == "existing_session":
        return str(target["instructions"])
    parsed = messages_of([UserInput.model_validate(message) for message in target["input"]])
    return "\n\n".join(text_of(message.content) for message in parsed)


def _agent_url(record: AutomationRecord) -> str:
    named = record.target.body.get("agent_id")
    key = ids.parse_spelled(ids.Kind.AGENT, named) if named else None
    return "" if key is None else at(f"/agents/{ids.public(ids.Kind.AGENT, key)}/")


def _session_url(session: int | None) -> str:
    return "" if session is None else at(f"/sessions/{ids.public(ids.Kind.SESSION, session)}/")


def _row(run: RunRecord) -> RunRow:
    turn_url = "" if run.turn is None else at(f"/turns/{ids.public(ids.Kind.TURN, run.turn)}/")
    return RunRow(run, turn_url, _session_url(run.session) if turn_url else "")


# ---------------------------------------------------------------------------------------------- changes


@page("manage")
@require_POST
def change(request: PageRequest, automation_id: str) -> HttpResponse:
    """Change an automation's name and times, or pause it or go on with it by ``enabled``."""
    record = automations.get(request.actor, automation_id, "manage")
    try:
        if "enabled" in request.POST:
            switch = changes.resume if request.POST["enabled"] == "true" else changes.pause
            switch(request.actor, automation_id)
        else:
            names = ("name", "expression", "timezone") if record.is_periodic else ("name",)
            sent = {name: value for name, value in _form_of(request).items() if name in names}
            changes.update(request.actor, automation_id, forms.parsed(UpdateAutomation, sent, _FIELDS))
    except AgentsError as error:
        return _detail(request, record, error=error, status=error.status)
    return redirect("automation", automation_id)


@page("run")
@require_POST
def run_now(request: PageRequest, automation_id: str) -> HttpResponse:
    record = automations.get(request.actor, automation_id, "run")
    try:
        runs.add_manual(record)
    except AgentsError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("It runs now."))
    return redirect("automation", automation_id)


@page("manage")
@require_POST
def delete(request: PageRequest, automation_id: str) -> HttpResponse:
    automations.delete(request.actor, automation_id)
    return redirect("automations")


def _form_of(request: PageRequest) -> dict[str, str]:
    """Return the values that the form sent."""
    return {name: request.POST.get(name, "").replace("\0", "").strip() for name in _FORM}


def _values(form: dict[str, str]) -> dict[str, Any]:
    """Return the values of the form as the API has them."""
    message = {"role": "user", "content": [{"type": "input_text", "text": form["input"]}]}
    if not form["input"] or not form["agent_id"]:
        raise InvalidRequest(_(_FIELDS["target"]), param="agent_id" if form["input"] else "input")
    target = {"type": "new_session", "environment": {"type": "none"}, "agent_id": form["agent_id"], "input": [message]}
    schedule = {"expression": form["expression"], "timezone": form["timezone"]}
    return {"type": "periodic", "name": form["name"], "target": target, **schedule}
