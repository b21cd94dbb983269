"""The list of agents, and the page of one: its configuration, its sessions, and a form to try it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from agents.base import ids
from agents.base.store import feed_cursor
from agents.pages import agent_health, periods, turn_actions
from agents.pages.agent_health import AgentHealth
from agents.pages.page_hooks import hooks
from agents.record.models.choices import BudgetTarget
from agents.record.schemas.content import SamplingParams, ToolDef
from agents.record.store import agents, sessions
from agents.record.store.agents import AgentRecord
from agents.uikit import format, json_view, sources
from agents.uikit.access import PageRequest, page
from agents.uikit.http_responses import turn_reply
from agents.uikit.kept_numbers import come_later, url_with_numbers
from agents.uikit.links import at, base_url

PAGE_SIZE = 50


@page("read")
def agent_list(request: PageRequest) -> HttpResponse:
    """The list of agents with metrics; a browser with JavaScript fetches these after the page."""
    start = _start_param(request)
    period = agent_health.period_of(request)
    records, more = agents.listing(request.actor, start=start, limit=PAGE_SIZE)
    later = come_later(request, "agents")
    uncounted = {"health": {}, "count_url": url_with_numbers(request)}
    context = {
        **_table(request, records, uncounted if later else agent_health.kept_health(request, records)),
        "ready": not later,
        "can_manage": "manage" in request.actor.actions,
        "base_url": base_url(request),
        "periods": periods.choices(at("/agents/"), period.name),
        "numbers_url": at(f"/agents/numbers/?{urlencode({'start': start, 'period': period.name})}"),
        **_paging(start, more),
    }
    return render(request, "pages/agents.html", context)


@page("read")
def agent_list_numbers(request: PageRequest) -> HttpResponse:
    """The table of agents with metrics, as a fragment."""
    records, _more = agents.listing(request.actor, start=_start_param(request), limit=PAGE_SIZE)
    counted = agent_health.kept_health(request, records)
    return render(request, "pages/_agent_table.html", {**_table(request, records, counted), "ready": True})


def _table(request: PageRequest, records: list[AgentRecord], counted: Mapping[str, Any]) -> dict[str, Any]:
    health: Mapping[int, AgentHealth] = counted["health"]
    counts = agents.with_session_counts(request.actor, records)
    rows = [
        (record, counts.get(record.key, 0), changed_at(record), tool_names(record), health.get(record.key))
        for record in records
    ]
    return {**counted, "rows": rows}


@page("read")
def agent_page(request: PageRequest, agent_id: str) -> HttpResponse:
    # read first: a change while the page is built is then sent again rather than missed
    cursor = feed_cursor.newest(request.actor)
    record = agents.get(request.actor, agents.key_of(agent_id))
    start = _start_param(request)
    records, more = sessions.listing(request.actor, agent=record.key, start=start, limit=PAGE_SIZE)
    context = {
        "agent": record,
        "title": record.name or record.model,
        "changed_at": changed_at(record),
        "sampling": sampling_label(record.config.sampling_params),
        "tools": [tool_signature(tool) for tool in record.config.client_tools],
        "toolgroups": [item if isinstance(item, str) else item.name for item in record.config.toolgroups],
        "shields": _shields(record),
        "config": json_view.highlight_json(_config_json(record)),
        "sessions": [(item, item.input_tokens + item.output_tokens) for item in records],
        "session_total": agents.with_session_counts(request.actor, [record]).get(record.key, 0),
        "can_run": "run" in request.actor.actions and not record.disabled and not record.is_external,
        "can_edit": "manage" in request.actor.actions and not record.is_external,
        "source": sources.source_label(record.source.label),
        "service": hooks.agent_service(record.key) if record.is_external else "",
        "cursor": cursor,
        "budgets": hooks.budget_section(request.actor, BudgetTarget.AGENT, record.key),
        **agent_health.numbers_context(request, record),
        **_paging(start, more),
    }
    return render(request, "pages/agent.html", context)


@page("run")
@require_POST
def try_agent(request: PageRequest, agent_id: str) -> HttpResponse:
    """Send a message to an agent, in the given session or a new one. Redirects to the turn, or returns its ids
    to a script."""
    text, session_id = (request.POST.get(name, "") for name in ("text", "session"))
    session = sessions.key_of(session_id) if session_id else None
    turn, session_id = turn_actions.try_agent(request.actor, agents.key_of(agent_id), text, session)
    return turn_reply(request, turn, session_id=session_id)


def _start_param(request: HttpRequest) -> int:
    text = request.GET.get("start", "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _paging(start: int, more: bool) -> dict[str, Any]:
    return {
        "newer": f"?start={max(start - PAGE_SIZE, 0)}" if start else "",
        "older": f"?start={start + PAGE_SIZE}" if more else "",
    }


# ------------------------------------------------------------------------------------- configuration


def changed_at(record: AgentRecord) -> int:
    """The time of the last change of configuration, in microseconds since 1970: that of its revision."""
    return ids.key_time_us(record.revision)


def tool_names(record: AgentRecord) -> list[str]:
    """The tools of an agent: groups of the server's tools, then tools of the client."""
    groups = [group if isinstance(group, str) else group.name for group in record.config.toolgroups]
    return [*groups, *(tool.name for tool in record.config.client_tools)]


def tool_signature(tool: ToolDef) -> tuple[str, str, str]:
    """A client tool as (name, ``order: integer, note?: string``, description)."""
    if tool.input_schema:
        properties = tool.input_schema.get("properties")
        required = tool.input_schema.get("required") or ()
        named = properties.items() if isinstance(properties, dict) else ()
        parts = [(str(name), _type_of(kind), name in required) for name, kind in named]
    else:
        parts = [(parameter.name, parameter.parameter_type, parameter.required) for parameter in tool.parameters or ()]
    arguments = ", ".join(f"{name}{'' if is_required else '?'}: {kind}" for name, kind, is_required in parts)
    return tool.name, arguments, tool.description or ""


def _type_of(schema: Any) -> str:
    return str(schema.get("type", "any")) if isinstance(schema, dict) else "any"


def sampling_label(sampling: SamplingParams | None) -> str:
    """``top_p, temperature 0.7, top_p 0.9; at most 512 tokens``."""
    if sampling is None:
        return format.NOTHING
    strategy = sampling.strategy.model_dump(exclude_none=True)
    parts = [format.readable_name(str(strategy.pop("type"))), *(f"{name} {value}" for name, value in strategy.items())]
    limit = _("at most %(count)s tokens") % {"count": sampling.max_tokens} if sampling.max_tokens else ""
    return "; ".join(part for part in (", ".join(parts), limit) if part)


def _shields(record: AgentRecord) -> list[tuple[str, list[str]]]:
    config = record.config
    named = ((_("input"), config.input_shields), (_("output"), config.output_shields))
    return [(where, names) for where, names in named if names]


def _config_json(record: AgentRecord) -> str:
    return msgspec.json.format(record.config.model_dump_json(exclude_none=True), indent=2)
