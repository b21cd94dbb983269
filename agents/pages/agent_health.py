"""How an agent is doing: the numbers of its turns over a period, on its page; and those of all agents in
their list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from agents.base.access import Actor
from agents.base.errors import Unavailable
from agents.logs.pages.numbers import zone_of
from agents.logs.schemas.numbers import Stats
from agents.logs.store import numbers
from agents.pages import outliers, period_metrics, periods
from agents.pages.periods import Asked, Span
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from agents.uikit import charts
from agents.uikit.access import PageRequest, page
from agents.uikit.charts import Sparkline


@page("read")
def agent_numbers(request: PageRequest, agent_id: str) -> HttpResponse:
    """The numbers of an agent by themselves, to be put in their place."""
    record = agents.get(request.actor, agents.key_of(agent_id))
    shown = {
        "agent": record,
        **_around(request, record),
        "ready": True,
        **counted(request.actor, record, span_of(request)),
    }
    return render(request, "pages/_agent_numbers.html", shown)


def beside(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    """Them with the page of the agent, or what stands there until they come."""
    around = _around(request, record)
    if "tz" in request.COOKIES:
        return {**around, "ready": False}
    return {**around, "ready": True, **counted(request.actor, record, span_of(request))}


def _around(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    here = span_of(request).name
    path = f"/agents/{record.public_id}/"
    chosen = [(words, f"{url}#health", this) for words, url, this in periods.choices(path, here)]
    return {"periods": chosen, "numbers_url": f"{path}numbers/?period={here}"}


def span_of(request: PageRequest) -> Span:
    """The period that the URL names."""
    return periods.span(request.GET.get("period", ""), ZoneInfo(zone_of(request)))


def counted(actor: Actor, record: AgentRecord, span: Span) -> dict[str, Any]:
    """Figures, charts, tools and failures of an agent; ``slow`` says that counting took too long."""
    base = Asked(f"agent:{record.public_id}")
    here, was = (base.during(each.low_us, each.high_us) for each in (span, span.before))
    calls = Asked(f"type:tool {here.text}", "step")
    try:
        models = numbers.groups(actor, here.query, ["model"]).groups
        tools = numbers.groups(actor, calls.query, ["tool"]).groups
        return {
            "span": span,
            "here_url": here.url,
            "figures": period_metrics.figures(
                numbers.stats(actor, here.query), numbers.stats(actor, was.query), here, was
            ),
            "charts": period_metrics.drawn(actor, base, span, models),
            "table": period_metrics.table(
                "tool", tools, calls, "count", title=_("Tools"), none=_("It called no tool in this time."), absent="–"
            ),
            "failures": outliers.failures(actor, here),
            "failed_url": here.also("status:failed").url,
        }
    except Unavailable as error:
        return {"slow": error.message}


# ------------------------------------------------------------------------------------ the list of agents


@dataclass(frozen=True, slots=True)
class Health:
    """An agent's turns in a period, and how many there were over it."""

    stats: Stats
    url: str
    failed_url: str
    spark: Sparkline
    words: str


def of_agents(actor: Actor, records: Sequence[AgentRecord], span: Span) -> dict[int, Health]:
    """By agent's key, of each of them; nothing where counting took too long."""
    try:
        return _of_agents(actor, records, span)
    except Unavailable:
        return {}


def _of_agents(actor: Actor, records: Sequence[AgentRecord], span: Span) -> dict[int, Health]:
    here = Asked("").during(span.low_us, span.high_us)
    stats = numbers.by_agent(actor, here.query, limit=100_000)
    over = numbers.agents_over_time(actor, here.query, span.bar, span.zone)
    starts = [start for start, _low, _high in span.bars]
    out = {}
    for record in records:
        own = Asked(f"agent:{record.public_id}").during(span.low_us, span.high_us)
        counts = [over.get((record.key, start), 0) for start in starts]
        found = stats.get(record.key, Stats())
        words = _("%(count)s turns, at most %(most)s at a time") % {"count": found.count, "most": max(counts)}
        out[record.key] = Health(found, own.url, own.also("status:failed").url, charts.sparkline(counts), words)
    return out
