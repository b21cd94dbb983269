"""Metrics of an agent's turns over a period, for its page and for the list of agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from agents.pages.period_metrics import PeriodStats, TableLabels
from agents.pages.periods import MetricsQuery, TimePeriod
from agents.query.tree import Level
from agents.record.store import agents
from agents.record.store.agents import AgentRecord
from agents.uikit import charts
from agents.uikit.access import PageRequest, page
from agents.uikit.charts import Sparkline
from agents.uikit.kept_numbers import come_later, kept_numbers, url_with_numbers
from agents.uikit.links import at

LEVELS: tuple[Level, ...] = ("turn", "step")


@page("read")
def agent_numbers(request: PageRequest, agent_id: str) -> HttpResponse:
    """The metrics of an agent as a fragment, which the page inserts."""
    record = agents.get(request.actor, agents.key_of(agent_id))
    context = {
        "agent": record,
        **_period_context(request, record),
        "ready": True,
        **_kept_metrics(request, record),
    }
    return render(request, "pages/_agent_numbers.html", context)


def numbers_context(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    """The context of the metrics on an agent's page; a browser with JavaScript fetches them later."""
    context = _period_context(request, record)
    if come_later(request, "agent"):
        return {**context, "ready": False, "slow": "", "count_url": url_with_numbers(request)}
    return {**context, "ready": True, **_kept_metrics(request, record)}


def _kept_metrics(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    """The metrics of an agent, which may have been counted a while ago."""
    actor, period = request.actor, period_of(request)
    counted = kept_numbers.counted(
        actor, "agent", (record.key, period.name, zone_of(request)), lambda: agent_metrics(actor, record, period)
    )
    return {**counted.numbers, "counted": counted}


def _period_context(request: PageRequest, record: AgentRecord) -> dict[str, Any]:
    current = period_of(request).name
    path = at(f"/agents/{record.public_id}/")
    periods_menu = [(label, f"{url}#health", this) for label, url, this in periods.choices(path, current)]
    return {"periods": periods_menu, "numbers_url": f"{path}numbers/?period={current}"}


def period_of(request: PageRequest) -> TimePeriod:
    """The period that the URL names."""
    return periods.time_period(request.GET.get("period", ""), ZoneInfo(zone_of(request)))


def agent_metrics(actor: Actor, record: AgentRecord, period: TimePeriod) -> dict[str, Any]:
    """Figures, charts, tools and failures of an agent; only ``slow``, a message, if counting took too long."""
    base = MetricsQuery(f"agent:{record.public_id}")
    current = base.during(period.low_us, period.high_us)
    calls = MetricsQuery(f"type:tool {current.text}", "step")
    try:
        turns = PeriodStats.count(actor, base, period)
        models = numbers.groups(actor, current.query, ["model"]).groups
        tools = numbers.groups(actor, calls.query, ["tool"]).groups
        return {
            "slow": "",
            "period": period,
            "rows_url": current.url,
            "has_turns": turns.current.count > 0,
            "figures": period_metrics.figures(turns),
            "in_other_turns": _in_other_turns(actor, record, period),
            "charts": period_metrics.period_charts(actor, base, period, models),
            "table": period_metrics.top_table(
                "tool", tools, calls, "count", TableLabels(_("Tools"), _("No tool calls in this period."), "–")
            ),
            "failures": outliers.failures(actor, current),
            "failed_url": current.also("status:failed").url,
            "messages_url": current.also("status:failed").grouped_url("error.message"),
        }
    except Unavailable as error:
        return {"slow": error.message}


def _in_other_turns(actor: Actor, record: AgentRecord, period: TimePeriod) -> dict[str, Any] | None:
    """Figures of what an agent did in turns of others, as a sub-agent or after a hand-over; None if it did nothing.
    Raises Unavailable when counting takes too long."""
    base = MetricsQuery(f"agent:{record.public_id} no(turn)(agent:{record.public_id})", "step")
    stats = PeriodStats.count(actor, base, period)
    if not stats.current.count:
        return None
    return {"url": stats.query.url, "figures": period_metrics.figures_of_steps(stats)}


# ------------------------------------------------------------------------------------ the list of agents


@dataclass(frozen=True, slots=True)
class AgentHealth:
    """Statistics of an agent's turns in a period, and a sparkline of their number; of one without turns ``steps`` are
    those of what it did in turns of others, None if it did nothing."""

    stats: Stats
    url: str
    failed_url: str
    sparkline: Sparkline
    label: str
    steps: Stats | None
    steps_url: str
    failed_steps_url: str


@dataclass(frozen=True, slots=True)
class _AgentCounts:
    """What is counted over a period by agent: statistics of turns and of steps, and turns by agent and bar."""

    period: TimePeriod
    stats: Mapping[int, Stats]
    steps: Mapping[int, Stats]
    turns_by_bar: Mapping[tuple[int, int], int]


def kept_health(request: PageRequest, records: Sequence[AgentRecord]) -> dict[str, Any]:
    """The context with the health of each agent, by key, which may have been counted a while ago; empty if
    counting took too long."""
    actor, period = request.actor, period_of(request)
    key = (period.name, zone_of(request))
    counted = kept_numbers.counted(actor, "agents", key, lambda: _count_agents(actor, period))
    health = _health_by_agent(counted.numbers, records) if counted.numbers else {}
    return {"health": health, "counted": counted}


def _count_agents(actor: Actor, period: TimePeriod) -> _AgentCounts | None:
    turns, steps = (MetricsQuery("", level).during(period.low_us, period.high_us).query for level in LEVELS)
    try:
        stats, of_steps = (numbers.by_agent(actor, query, limit=100_000) for query in (turns, steps))
        turns_by_bar = numbers.agents_over_time(actor, turns, period.bar, period.zone)
        return _AgentCounts(period, stats, of_steps, turns_by_bar)
    except Unavailable:
        return None


def _health_by_agent(counted: _AgentCounts, records: Sequence[AgentRecord]) -> dict[int, AgentHealth]:
    period = counted.period
    starts = [start for start, _low, _high in period.bars]
    out = {}
    for record in records:
        own_query, step_query = (
            MetricsQuery(f"agent:{record.public_id}", level).during(period.low_us, period.high_us) for level in LEVELS
        )
        counts = [counted.turns_by_bar.get((record.key, start), 0) for start in starts]
        agent_stats = counted.stats.get(record.key, Stats())
        label = _("%(count)s turns, at most %(most)s at a time") % {"count": agent_stats.count, "most": max(counts)}
        out[record.key] = AgentHealth(
            agent_stats,
            own_query.url,
            own_query.also("status:failed").url,
            charts.sparkline(counts),
            label,
            None if agent_stats.count else counted.steps.get(record.key),
            step_query.url,
            step_query.also("status:failed").url,
        )
    return out
