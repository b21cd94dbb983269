"""Metrics of an agent's turns over a period, for its page and for the list of agents."""

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
from agents.pages.period_metrics import TableLabels
from agents.pages.periods import MetricsQuery, TimePeriod
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from agents.uikit import charts
from agents.uikit.access import PageRequest, page
from agents.uikit.charts import Sparkline


@page("read")
def agent_numbers(request: PageRequest, agent_id: str) -> HttpResponse:
    """The metrics of an agent as a fragment, which the page inserts."""
    record = agents.get(request.actor, agents.key_of(agent_id))
    context = {
        "agent": record,
        **_period_context(request, record),
        "ready": True,
        **agent_metrics(request.actor, record, period_of(request)),
    }
    return render(request, "pages/_agent_numbers.html", context)


def numbers_context(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    """The context of the metrics on an agent's page; a browser with JavaScript fetches them later."""
    context = _period_context(request, record)
    if "tz" in request.COOKIES:
        return {**context, "ready": False, "slow": ""}
    return {**context, "ready": True, **agent_metrics(request.actor, record, period_of(request))}


def _period_context(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    current = period_of(request).name
    path = f"/agents/{record.public_id}/"
    periods_menu = [(label, f"{url}#health", this) for label, url, this in periods.choices(path, current)]
    return {"periods": periods_menu, "numbers_url": f"{path}numbers/?period={current}"}


def period_of(request: PageRequest) -> TimePeriod:
    """The period that the URL names."""
    return periods.time_period(request.GET.get("period", ""), ZoneInfo(zone_of(request)))


def agent_metrics(actor: Actor, record: AgentRecord, period: TimePeriod) -> dict[str, Any]:
    """Figures, charts, tools and failures of an agent; only ``slow``, a message, if counting took too long."""
    base = MetricsQuery(f"agent:{record.public_id}")
    current = base.during(period.low_us, period.high_us)
    previous = base.during(period.previous.low_us, period.previous.high_us)
    calls = MetricsQuery(f"type:tool {current.text}", "step")
    try:
        models = numbers.groups(actor, current.query, ["model"]).groups
        tools = numbers.groups(actor, calls.query, ["tool"]).groups
        return {
            "slow": "",
            "period": period,
            "rows_url": current.url,
            "figures": period_metrics.figures(
                numbers.stats(actor, current.query), numbers.stats(actor, previous.query), current, previous
            ),
            "charts": period_metrics.period_charts(actor, base, period, models),
            "table": period_metrics.top_table(
                "tool", tools, calls, "count", TableLabels(_("Tools"), _("It called no tool in this time."), "–")
            ),
            "failures": outliers.failures(actor, current),
            "failed_url": current.also("status:failed").url,
        }
    except Unavailable as error:
        return {"slow": error.message}


# ------------------------------------------------------------------------------------ the list of agents


@dataclass(frozen=True, slots=True)
class AgentHealth:
    """Statistics of an agent's turns in a period, and a sparkline of their number."""

    stats: Stats
    url: str
    failed_url: str
    sparkline: Sparkline
    label: str


def health_by_agent(actor: Actor, records: Sequence[AgentRecord], period: TimePeriod) -> dict[int, AgentHealth]:
    """The health of each agent, by key; empty if counting took too long."""
    try:
        return _count_health(actor, records, period)
    except Unavailable:
        return {}


def _count_health(actor: Actor, records: Sequence[AgentRecord], period: TimePeriod) -> dict[int, AgentHealth]:
    query = MetricsQuery("").during(period.low_us, period.high_us)
    stats = numbers.by_agent(actor, query.query, limit=100_000)
    counts_by_bar = numbers.agents_over_time(actor, query.query, period.bar, period.zone)
    starts = [start for start, _low, _high in period.bars]
    out = {}
    for record in records:
        own_query = MetricsQuery(f"agent:{record.public_id}").during(period.low_us, period.high_us)
        counts = [counts_by_bar.get((record.key, start), 0) for start in starts]
        agent_stats = stats.get(record.key, Stats())
        label = _("%(count)s turns, at most %(most)s at a time") % {"count": agent_stats.count, "most": max(counts)}
        out[record.key] = AgentHealth(
            agent_stats, own_query.url, own_query.also("status:failed").url, charts.sparkline(counts), label
        )
    return out
