"""Sums and percentiles of what a query accepts, as a whole and in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np

from agents.base.access import Actor
from agents.logs.schemas.numbers import Groups, Percentiles, Stats, TokenSums
from agents.logs.store.numbers.bucketing import OF_STATUS, OUTCOMES
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.grouping import Grouping, named
from agents.logs.store.numbers.scan import Rows, Sifted, scan_of
from agents.logs.store.numbers.snapshot import Deadline
from agents.logs.store.numbers.table import LAYOUTS, Table
from agents.query.tree import Query
from agents.record.models.choices import StepStatus, StepType

TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
COUNTS = {"steps": "step_count", "tools": "tool_count", "errors": "error_count", "violations": "violation_count"}
SUMS = ("count", *OUTCOMES, *TOKENS, "cost_nano", "cost_unknown", "cost_known", *COUNTS, "turns")
SHARES = (0.50, 0.95, 0.99)


@dataclass(slots=True)
class _Sums:
    """Per group one row of `SUMS`, and all its durations and times to the first token."""

    table: Array = field(default_factory=lambda: np.zeros((16, len(SUMS)), dtype=np.int64))
    durations: list[tuple[Array, Array]] = field(default_factory=list)
    ttfts: list[tuple[Array, Array]] = field(default_factory=list)

    def add(self, groups: Array, amounts: dict[str, Array], numbers: Array) -> None:
        """Amounts of rows; ``groups`` are the places of the rows' groups in ``numbers``, which are
        those of this table."""
        while len(self.table) <= int(numbers.max()):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        order = np.argsort(groups, kind="stable") if len(numbers) > 1 else slice(None)
        ordered = groups[order]
        starts = np.searchsorted(ordered, np.arange(len(numbers)))
        for place, name in enumerate(SUMS):
            if name in amounts:
                self.table[numbers, place] += np.add.reduceat(amounts[name][order], starts)


def stats(actor: Actor, query: Query, deadline: Deadline) -> Stats:
    sums, _ = _gather(actor, query, (), None, deadline)
    return _stats(sums.table[0], *(_percentiles(_joined(parts)[1]) for parts in (sums.durations, sums.ttfts)))


def groups(actor: Actor, query: Query, by: Sequence[str], limit: int, zone: tzinfo, deadline: Deadline) -> Groups:
    """By field or length of time, those with the most rows; times in their order."""
    sums, grouping = _gather(actor, query, by, zone, deadline)
    count = len(grouping.numbers)
    kept = grouping.kept(sums.table[:count, 0], limit)
    durations, ttfts = (_split(parts, count, kept) for parts in (sums.durations, sums.ttfts))
    told = [
        _stats(sums.table[number], *(_percentiles(parts[number]) for parts in (durations, ttfts))) for number in kept
    ]
    return Groups(by=list(by), groups=named(by, query.level == "step", grouping, kept, told), more=count - len(kept))


def by_agent(actor: Actor, query: Query, limit: int, deadline: Deadline) -> dict[int, Stats]:
    """The agents with the most rows, by key; rows without an agent are left out."""
    sums, grouping = _gather(actor, query, ("agent",), None, deadline)
    keys, count = list(grouping.numbers), len(grouping.numbers)
    kept = [number for number in grouping.kept(sums.table[:count, 0], limit) if keys[number][0] != NULL]
    durations, ttfts = (_split(parts, count, kept) for parts in (sums.durations, sums.ttfts))
    return {
        keys[number][0]: _stats(sums.table[number], _percentiles(durations[number]), _percentiles(ttfts[number]))
        for number in kept
    }


def agents_over_time(
    actor: Actor, query: Query, period: str, zone: tzinfo, deadline: Deadline
) -> dict[tuple[int, int], int]:
    sums, grouping = _gather(actor, query, ("agent", period), zone, deadline)
    counts = sums.table[:, 0].tolist()
    return {(agent, start): counts[number] for (agent, start), number in grouping.numbers.items() if agent != NULL}


def _gather(
    actor: Actor, query: Query, by: Sequence[str], zone: tzinfo | None, deadline: Deadline
) -> tuple[_Sums, Grouping]:
    scan = scan_of(actor, query, deadline)
    grouping, sums = Grouping(scan.table, by, zone), _Sums()
    for sifted in scan.over(grouping.needs | _needs(scan.table)):
        rows = sifted.rows()
        if rows is None:
            continue
        places, numbers = grouping.of(sifted, rows)
        sums.add(places, _amounts(sifted, rows), numbers)
        for values, parts in ((_duration(sifted, rows), sums.durations), (_time("ttft_us", sifted, rows), sums.ttfts)):
            present = values != NULL
            parts.append((numbers[places[present]].astype(np.uint32), values[present]))
    return sums, grouping


def _needs(table: Table) -> set[str]:
    own = LAYOUTS[table]
    names = {"status", *TOKENS, "cost_nano", "duration_us", "ttft_us", *COUNTS.values(), "type", "violation"}
    times = {"created_at", "completed_at"} if table == "response" else {"turn_count"}
    return {f"{table}.{name}" for name in names | times if name in own}


def _amounts(sifted: Sifted, rows: Rows) -> dict[str, Array]:
    table, size = sifted.table, sifted.size(rows)
    status = sifted.ints(f"{table}.status", rows)
    outcome = OF_STATUS[status]
    out = {"count": np.ones(size, dtype=np.int64)}
    out |= {name: (outcome == place).astype(np.int64) for place, name in enumerate(OUTCOMES)}
    own = LAYOUTS[table]
    out |= {name: sifted.ints(f"{table}.{name}", rows) for name in TOKENS if name in own}
    if "cost_nano" in own:
        cost = sifted.ints(f"{table}.cost_nano", rows)
        known = cost != NULL
        out |= {"cost_nano": np.where(known, cost, 0), "cost_known": known.astype(np.int64)}
        out |= {"cost_unknown": (~known).astype(np.int64)}
    if table == "turn":
        out |= {name: sifted.ints(f"turn.{column}", rows) for name, column in COUNTS.items()}
        out |= {"turns": out["count"]}
    if table == "session":
        out |= {"turns": sifted.ints("session.turn_count", rows)}
    if table == "step":
        out |= _of_steps(sifted, rows, status)
    return out


def _of_steps(sifted: Sifted, rows: Rows, status: Array) -> dict[str, Array]:
    tools = sifted.ints("step.type", rows) == StepType.TOOL_EXECUTION
    return {
        "steps": np.ones(len(status), dtype=np.int64),
        "tools": tools.astype(np.int64),
        "errors": (status == StepStatus.FAILED).astype(np.int64),
        "violations": sifted.ints("step.violation", rows),
    }


def _duration(sifted: Sifted, rows: Rows) -> Array:
    if sifted.table != "response":
        return _time("duration_us", sifted, rows)
    ended = sifted.ints("response.completed_at", rows)
    return np.where(ended == NULL, NULL, ended - sifted.ints("response.created_at", rows))


def _time(name: str, sifted: Sifted, rows: Rows) -> Array:
    """A length of time, where rows of this table have it."""
    if name in LAYOUTS[sifted.table]:
        return sifted.ints(f"{sifted.table}.{name}", rows)
    return np.full(sifted.size(rows), NULL)


# ----------------------------------------------------------------------------------------------- telling


def _joined(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    if not parts:
        return np.array([], dtype=np.uint32), np.array([], dtype=np.int64)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _split(parts: Sequence[tuple[Array, Array]], count: int, kept: Sequence[int]) -> dict[int, Array]:
    """The values of each group."""
    numbers, values = _joined(parts)
    narrow = numbers.astype(np.uint16) if count < 1 << 16 else numbers
    order = np.argsort(narrow, kind="stable")
    ordered, values = narrow[order], values[order]
    starts = np.searchsorted(ordered, kept, side="left")
    ends = np.searchsorted(ordered, kept, side="right")
    return {number: values[start:end] for number, start, end in zip(kept, starts, ends, strict=True)}


def _percentiles(values: Array) -> Percentiles:
    """The value of the row at that share of all, in order."""
    if not len(values):
        return Percentiles()
    places = [min(int(share * len(values)), len(values) - 1) for share in SHARES]
    found = np.partition(values, places)[places] / 1000
    return Percentiles(count=len(values), p50=found[0], p95=found[1], p99=found[2])


def _stats(row: Array, duration: Percentiles, ttft: Percentiles) -> Stats:
    sums = dict(zip(SUMS, row.tolist(), strict=True))
    ended = sums["completed"] + sums["failed"] + sums["stopped"]
    known = sums.pop("cost_known")
    tokens = {name: sums.pop(name) for name in TOKENS}
    return Stats(
        **sums,
        failure_rate=sums["failed"] / ended if ended else None,
        duration_ms=duration,
        ttft_ms=ttft,
        tokens=TokenSums(**tokens, total_tokens=tokens["input_tokens"] + tokens["output_tokens"]),
        cost_usd=sums["cost_nano"] / 1e9 if known else None,
    )
