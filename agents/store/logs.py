"""Pages of the logs: turns under a query, newest first, by key in both directions.

Ids first and bodies after; no joins on the way to a page, counts capped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agents import ids
from agents.access import Actor, readable_scopes
from agents.models import Agent, Api, Session, Source, Step, StepStatus, StepType, Turn, TurnBody, TurnStatus, TurnTag
from agents.models.fields import to_us
from agents.query.tree import Query
from agents.schemas.events import ErrorInfo
from agents.schemas.logs import Counts, StepMark, TokenCounts, TurnRow
from agents.store import terms
from agents.store.query import condition

CAP = 10_000
"""Rows that are counted; beyond it a sum says so."""

_TURN = (
    "pk",
    "agent_id",
    "session_id",
    "status",
    "stop_reason",
    "source",
    "api",
    "model_id",
    "end_user_id",
    "error_type_id",
    "started_at",
    "completed_at",
    "duration_us",
    "ttft_us",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "cost_nano",
    "step_count",
    "tool_count",
    "error_count",
    "violation_count",
)


@dataclass(frozen=True, slots=True)
class TurnPage:
    rows: list[TurnRow]
    has_newer: bool
    has_older: bool


def _visible(actor: Actor, query: Query | None) -> Any:
    rows = Turn.objects.visible_to(actor)
    return rows.filter(condition(query)) if query is not None else rows


def turns_page(
    actor: Actor, query: Query | None, *, after: int | None = None, before: int | None = None, limit: int = 50
) -> TurnPage:
    """A page of turns, newest first: behind (older than) the turn ``after``, or in front of (newer
    than) the turn ``before``."""
    rows = _visible(actor, query)
    if before is not None:
        keys = list(rows.filter(pk__gt=before).order_by("pk").values_list("pk", flat=True)[: limit + 1])
        page = keys[:limit][::-1]
        return TurnPage(_rows(page), has_newer=len(keys) > limit, has_older=True)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    return TurnPage(_rows(keys[:limit]), has_newer=after is not None, has_older=len(keys) > limit)


def newest(actor: Actor, query: Query | None, limit: int) -> list[int]:
    """The keys of the newest turns a query accepts, newest first."""
    return list(_visible(actor, query).order_by("-pk").values_list("pk", flat=True)[:limit])


def turn_rows(actor: Actor, keys: Sequence[int], query: Query | None = None) -> list[TurnRow]:
    """Those of these turns that the actor may see and the query accepts, newest first."""
    return _rows(sorted(visible_keys(actor, keys, query), reverse=True))


def visible_keys(actor: Actor, keys: Sequence[int], query: Query | None = None) -> set[int]:
    """Those of these turns that the actor may see and the query accepts."""
    return set(_visible(actor, query).filter(pk__in=list(keys)).values_list("pk", flat=True))


# ---------------------------------------------------------------------------------------------- rows


@dataclass(frozen=True, slots=True)
class _Around:
    """What a page of turns needs besides the turns: one query each."""

    bodies: dict[int, tuple[str, str, str]]
    agents: dict[int, str]
    sessions: dict[int, str]
    words: dict[int | None, str]
    steps: dict[int, list[tuple[Any, ...]]]
    tags: dict[int, list[str]]


def _rows(keys: list[int]) -> list[TurnRow]:
    """The rows of these turns, in this order. The caller has checked that they may be seen."""
    if not keys:
        return []
    found = {row[0]: row for row in Turn.objects.unscoped("ids checked").filter(pk__in=keys).values_list(*_TURN)}
    around = _around(keys, list(found.values()))
    return [_row(found[key], around) for key in keys if key in found]


def _around(keys: list[int], turns: list[tuple[Any, ...]]) -> _Around:
    bodies = TurnBody.objects.unscoped("ids checked").filter(turn_id__in=keys)
    agents = Agent.objects.unscoped("ids checked").filter(pk__in={row[1] for row in turns if row[1]})
    sessions = Session.objects.unscoped("ids checked").filter(pk__in={row[2] for row in turns})
    return _Around(
        bodies={row[0]: row[1:] for row in bodies.values_list("pk", "input_preview", "output_preview", "error")},
        agents={key: name or model for key, name, model in agents.values_list("pk", "name", "model")},
        sessions=dict(sessions.values_list("pk", "name")),
        words=terms.texts({number for row in turns for number in row[7:10]}),
        steps=_steps(keys),
        tags=_tags(keys),
    )


STRIP = 200
"""Steps in the strip of a row; a turn of a hundred thousand steps must not fill the page."""


def _steps(keys: list[int]) -> dict[int, list[tuple[Any, ...]]]:
    rows = Step.objects.unscoped("ids checked").filter(turn_id__in=keys, number__lt=STRIP).order_by("turn_id", "number")
    out: dict[int, list[tuple[Any, ...]]] = {}
    columns = ("turn_id", "pk", "type", "name", "status", "started_at", "duration_us", "kind_id", "violation")
    for row in rows.values_list(*columns):
        out.setdefault(row[0], []).append(row)
    return out


def _tags(keys: list[int]) -> dict[int, list[str]]:
    rows = list(TurnTag.objects.filter(turn_id__in=keys).values_list("turn_id", "term_id"))
    names = terms.texts({term for _, term in rows})
    out: dict[int, list[str]] = {}
    for turn, term in rows:
        if "=" not in names[term]:
            out.setdefault(turn, []).append(names[term])
    return out


def _ms(duration_us: int | None) -> float | None:
    return None if duration_us is None else duration_us / 1000


def _row(row: tuple[Any, ...], around: _Around) -> TurnRow:
    key, agent, session, status, stop_reason, source, api, model, user, error, started, completed = row[:12]
    duration, ttft, tokens_in, tokens_out, cached, reasoning, cost, steps, tools, errors, violations = row[12:]
    asked, answered, error_json = around.bodies.get(key, ("", "", ""))
    start = to_us(started)
    return TurnRow(
        id=key,
        agent_id=agent,
        agent_name=around.agents.get(agent, ""),
        session_id=session,
        session_name=around.sessions.get(session, ""),
        status=TurnStatus(status).label,
        stop_reason=stop_reason or None,
        source=Source(source).label,
        api=Api(api).label,
        model=around.words[model],
        user=around.words[user] or None,
        tags=around.tags.get(key, []),
        input_preview=asked,
        output_preview=answered,
        started_at=start,
        completed_at=to_us(completed) if completed else None,
        duration_ms=_ms(duration),
        ttft_ms=_ms(ttft),
        usage=TokenCounts(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cached_tokens=cached,
            reasoning_tokens=reasoning,
            total_tokens=tokens_in + tokens_out,
        ),
        cost_usd=None if cost is None else cost / 1e9,
        error=ErrorInfo.model_validate_json(error_json) if error and error_json else None,
        steps=[_mark(step, start) for step in around.steps.get(key, ())],
        counts=Counts(steps=steps, tools=tools, errors=errors, violations=violations),
    )


def _mark(row: tuple[Any, ...], turn_start: int) -> StepMark:
    _, key, type_, name, status, started, duration, kind, violation = row
    return StepMark(
        id=key,
        type=StepType(type_).label,
        kind=terms.text(kind),
        name=name,
        status=StepStatus(status).label,
        offset_ms=(to_us(started) - turn_start) / 1000,
        duration_ms=_ms(duration),
        violation=violation,
    )


# ---------------------------------------------------------------------------------------------- sums


@dataclass(frozen=True, slots=True)
class Summary:
    """Of what a query accepts, its newest `CAP` rows at most: ``capped`` says there are more."""

    count: int
    capped: bool
    failed: int
    p50_ms: float | None
    p95_ms: float | None
    tokens: int
    cost_usd: float | None


def summary(actor: Actor, query: Query | None) -> Summary:
    columns = ("status", "duration_us", "input_tokens", "output_tokens", "cost_nano")
    rows = list(_visible(actor, query).order_by("-pk").values_list(*columns)[: CAP + 1])
    capped, rows = len(rows) > CAP, rows[:CAP]
    durations = sorted(row[1] for row in rows if row[1] is not None)
    costs = [row[4] for row in rows if row[4] is not None]
    return Summary(
        count=len(rows),
        capped=capped,
        failed=sum(row[0] == TurnStatus.FAILED for row in rows),
        p50_ms=_percentile(durations, 0.50),
        p95_ms=_percentile(durations, 0.95),
        tokens=sum(row[2] + row[3] for row in rows),
        cost_usd=sum(costs) / 1e9 if costs else None,
    )


def _percentile(ordered: list[int], share: float) -> float | None:
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] / 1000 if ordered else None


Choices = dict[str, list[tuple[str, int]]]
_choices: dict[object, tuple[float, Choices]] = {}
CHOICES_FRESH_S = 5.0


def forget() -> None:
    """Empty the cache of choices."""
    _choices.clear()


def choices(actor: Actor, *, api: str | None = None) -> Choices:
    """What can be chosen in the facets, with counts over the newest `CAP` turns, those of one API if one
    is named; remembered for a few seconds for those who see the same."""
    sight = (actor.is_admin or (actor.user_id, tuple(readable_scopes(actor))), api)
    found = _choices.get(sight)
    if found is None or time.monotonic() - found[0] > CHOICES_FRESH_S:
        if len(_choices) > 1000:
            _choices.clear()
        found = _choices[sight] = time.monotonic(), _count_choices(actor, api)
    return found[1]


def _count_choices(actor: Actor, api: str | None) -> Choices:
    turns = Turn.objects.visible_to(actor)
    if api is not None:
        turns = turns.filter(api=Api[api.upper()])
    rows = list(turns.order_by("-pk").values_list("pk", "agent_id", "status", "model_id")[:CAP])
    agents = Agent.objects.unscoped("of visible turns").filter(pk__in={row[1] for row in rows if row[1]})
    names = {key: name or model for key, name, model in agents.values_list("pk", "name", "model")}
    models = terms.texts({row[3] for row in rows})
    oldest = rows[-1][0] if rows else 0
    return {
        "status": _ranked(Counter(TurnStatus(row[2]).label for row in rows)),
        "agent": _ranked(Counter(names.get(row[1], "") for row in rows)),
        "model": _ranked(Counter(models[row[3]] for row in rows)),
        **_step_choices(actor, oldest, api),
    }


def _step_choices(actor: Actor, oldest: int, api: str | None) -> Choices:
    """Turns per step type and per tool."""
    steps = Step.objects.visible_to(actor).filter(turn_id__gte=oldest)
    if api is not None:
        steps = steps.filter(turn__api=Api[api.upper()])
    pairs = set(steps.values_list("turn_id", "type", "tool_id"))
    tools = terms.texts({tool for _, _, tool in pairs})
    return {
        "type": _ranked(Counter(StepType(type_).label for _, type_ in {pair[:2] for pair in pairs})),
        "tool": _ranked(Counter(tools[tool] for _, _, tool in pairs if tool is not None)),
    }


def _ranked(counter: Counter[str]) -> list[tuple[str, int]]:
    return [(name, count) for name, count in counter.most_common(30) if name]


def key_of(public_id: str) -> int | None:
    """The key behind a turn's public id, None when it is none: for cursors."""
    return ids.parse(ids.Kind.TURN, public_id)
