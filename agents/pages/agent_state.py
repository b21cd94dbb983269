"""Disable, enable or delete an agent, each behind a page that says what it means."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.base.errors import AgentsError, InvalidRequest
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from agents.uikit.access import PageRequest, page

ACTS = ("disable", "enable", "delete")


@page("manage")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def agent_state(request: PageRequest, agent_id: str) -> HttpResponse:
    """Ask whether to do what ``act`` says; a POST does it."""
    record = agents.get(request.actor, agents.key_of(agent_id), "manage")
    posts = request.method == "POST"
    act = (request.POST if posts else request.GET).get("act", "")
    if act not in ACTS:
        raise InvalidRequest(f"act: one of {', '.join(ACTS)} is needed.", param="act")
    if not posts:
        return _asked(request, record, act)
    try:
        if act == "delete":
            agents.delete(request.actor, record.key)
        else:
            agents.set_disabled(request.actor, record.key, act == "disable")
    except AgentsError as error:
        return _asked(request, record, act, error)
    if act == "delete":
        messages.success(request, _("The agent is deleted."))
        return redirect("agents")
    return redirect("agent", record.public_id)


def _asked(request: PageRequest, record: AgentRecord, act: str, error: AgentsError | None = None) -> HttpResponse:
    context = {
        "agent": record,
        "title": record.name or record.model,
        "act": act,
        "error": error,
        "session_total": agents.with_session_counts(request.actor, [record]).get(record.key, 0),
    }
    return render(request, "pages/agent_state.html", context, status=error.status if error else 200)
