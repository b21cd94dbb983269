"""Compute sums and percentiles of the rows a query accepts, in total and in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np

from agents.logs.schemas.numbers import GroupMeasure, Groups, Percentiles, Stats, TokenSums
from agents.logs.store.numbers import row_amounts
from agents.logs.store.numbers.bucketing import OUTCOME_OF_STATUS, OUTCOMES
from agents.logs.store.numbers.columns import NULL, Array
from agents.logs.store.numbers.grouping import GroupAmount, Grouping, labelled_amounts, labelled_groups
from agents.logs.store.numbers.layouts import LAYOUTS, Table
from agents.logs.store.numbers.scan import MatchedChunk, Rows
from agents.record.models.choices import StepStatus, StepType

TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")
COUNTS = {"steps": "step_count", "tools": "tool_count", "errors": "error_count", "violations": "violation_count"}
SUMS = ("count", *OUTCOMES, *TOKENS, "cost_nano", "cost_unknown", "cost_known", *COUNTS, "turns")
_TIMES = ("duration", "waited", "ttft")
P95 = 0.95
QUANTILES = (0.50, P95, 0.99)
NO_VALUES = Percentiles()
VALUE_BITS = 43
"""Bits of a time in microseconds that is shorter than a hundred days."""


@dataclass(slots=True)
class _Sums:
    """One row of `SUMS` for each group, and all its durations, waits and times to the first token."""

    table: Array = field(default_factory=lambda: np.zeros((16, len(SUMS)), dtype=np.int64))
    durations: list[tuple[Array, Array]] = field(default_factory=list)
    waits: list[tuple[Array, Array]] = field(default_factory=list)
    ttfts: list[tuple[Array, Array]] = field(default_factory=list)

    @property
    def times(self) -> tuple[list[tuple[Array, Array]], ...]:
        return self.durations, self.waits, self.ttfts

    def add(self, groups: Array, amounts: dict[str, Array], numbers: Array) -> None:
        """Add amounts of rows; ``groups`` are the indices of the rows' groups in ``numbers``, the group numbers
        that this table is indexed by."""
        while len(self.table) <= int(numbers.max()):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        order = np.argsort(groups, kind="stable") if len(numbers) > 1 else slice(None)
        ordered = groups[order]
        starts = np.searchsorted(ordered, np.arange(len(numbers)))
        for index, name in enumerate(SUMS):
            if name in amounts:
                self.table[numbers, index] += np.add.reduceat(amounts[name][order], starts)


class StatsCounter:
    """Sums up rows, in groups by these fields or lengths of time; in one without any."""

    def __init__(self, table: Table, by: Sequence[str] = (), zone: tzinfo | None = None) -> None:
        self._by = by
        self._sums, self._grouping = _Sums(), Grouping(table, by, zone)
        self.needs = self._grouping.needs | _needs(table)

    def add(self, matched: MatchedChunk) -> None:
        rows = matched.rows()
        if rows is None:
            return
        rows, indices, numbers = self._grouping.assign(matched, rows)
        self._sums.add(indices, _amounts(matched, rows), numbers)
        for name, parts in zip(_TIMES, self._sums.times, strict=True):
            values = row_amounts.of(name, matched, rows)
            present = values != NULL
            parts.append((numbers[indices[present]].astype(np.uint32), values[present]))

    @property
    def overlaps(self) -> bool:
        """Whether a row may be in several groups."""
        return self._grouping.overlaps

    def stats(self) -> Stats:
        """Return the statistics of the rows of all groups."""
        times = (_percentiles(_concatenated(parts)[1]) for parts in self._sums.times)
        return _stats(self._sums.table.sum(axis=0).tolist(), *times)

    def groups(self, limit: int, measure: GroupMeasure = "count") -> Groups:
        """Return the groups with the most of a measure, of their newest times first; times in their order."""
        selected = self._grouping.select(np.nan_to_num(self._measured(measure), nan=-1), limit)
        return Groups(
            by=list(self._by),
            groups=labelled_groups(self._by, self._grouping, selected, self._stats_of(selected)),
            more=self._count - len(selected),
        )

    def amounts(self, measure: GroupMeasure) -> list[GroupAmount]:
        """Return a measure of every group."""
        return labelled_amounts(self._by, self._grouping, self._measured(measure).tolist())

    def _measured(self, measure: GroupMeasure) -> Array:
        """Return a measure of each group, by its number; NaN where it has none."""
        columns: dict[str, Array] = dict(zip(SUMS, self._sums.table[: self._count].T.astype(np.float64), strict=True))
        amounts: Array
        match measure:
            case "tokens":
                amounts = columns["input_tokens"] + columns["output_tokens"]
            case "cost":
                amounts = np.where(columns["cost_known"] > 0, columns["cost_nano"] / 1e9, np.nan)
            case "duration":
                counts, quantiles = _quantiles(self._sums.durations, range(self._count))
                amounts = np.where(counts > 0, quantiles[QUANTILES.index(P95)], np.nan)
            case _:
                amounts = columns[measure]
        return amounts

    def by_key(self, limit: int) -> dict[int, Stats]:
        """Return the groups with the most rows by the key of the one field; rows without a value are left out."""
        keys = list(self._grouping.numbers)
        selected = self._grouping.select(self._measured("count"), limit)
        selected = [number for number in selected if keys[number][0] != NULL]
        return {keys[number][0]: stats for number, stats in zip(selected, self._stats_of(selected), strict=True)}

    def counts(self) -> dict[tuple[int, ...], int]:
        """Return the number of rows of each group, by its values."""
        counts = self._sums.table[:, 0].tolist()
        return {key: counts[number] for key, number in self._grouping.numbers.items()}

    @property
    def _count(self) -> int:
        return len(self._grouping.numbers)

    def _stats_of(self, selected: Sequence[int]) -> list[Stats]:
        times = [_percentiles_of(parts, selected) for parts in self._sums.times]
        rows = self._sums.table[list(selected)].tolist()
        return [_stats(row, *own) for row, own in zip(rows, zip(*times, strict=True), strict=True)]


def _needs(table: Table) -> set[str]:
    own = LAYOUTS[table]
    names = {"status", *TOKENS, "cost_nano", *COUNTS.values(), "type", "violation", "turn_count"}
    times = frozenset[str]().union(*(row_amounts.needs(name, table) for name in _TIMES))
    return {f"{table}.{name}" for name in names if name in own} | times


def _amounts(matched: MatchedChunk, rows: Rows) -> dict[str, Array]:
    table, size = matched.table, matched.size(rows)
    status = matched.ints(f"{table}.status", rows)
    outcome = OUTCOME_OF_STATUS[status]
    amounts = {"count": np.ones(size, dtype=np.int64)}
    amounts |= {name: (outcome == index).astype(np.int64) for index, name in enumerate(OUTCOMES)}
    own = LAYOUTS[table]
    amounts |= {name: matched.ints(f"{table}.{name}", rows) for name in TOKENS if name in own}
    if "cost_nano" in own:
        cost = matched.ints(f"{table}.cost_nano", rows)
        has_cost = cost != NULL
        amounts |= {"cost_nano": np.where(has_cost, cost, 0), "cost_known": has_cost.astype(np.int64)}
        amounts |= {"cost_unknown": (~has_cost).astype(np.int64)}
    if table == "turn":
        amounts |= {name: matched.ints(f"turn.{column}", rows) for name, column in COUNTS.items()}
        amounts |= {"turns": amounts["count"]}
    if table == "session":
        amounts |= {"turns": matched.ints("session.turn_count", rows)}
    if table == "step":
        amounts |= _step_amounts(matched, rows, status)
    return amounts


def _step_amounts(matched: MatchedChunk, rows: Rows, status: Array) -> dict[str, Array]:
    tools = matched.ints("step.type", rows) == StepType.TOOL_EXECUTION
    return {
        "steps": np.ones(len(status), dtype=np.int64),
        "tools": tools.astype(np.int64),
        "errors": (status == StepStatus.FAILED).astype(np.int64),
        "violations": matched.ints("step.violation", rows),
    }


# ---------------------------------------------------------------------------------------------- results


def _concatenated(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    if not parts:
        return np.array([], dtype=np.uint32), np.array([], dtype=np.int64)
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _percentiles_of(parts: Sequence[tuple[Array, Array]], selected: Sequence[int]) -> list[Percentiles]:
    """Return the percentiles of the values of each group."""
    counts, quantiles = _quantiles(parts, selected)
    return [
        Percentiles(count=count, p50=p50, p95=p95, p99=p99) if count else NO_VALUES
        for count, p50, p95, p99 in zip(counts.tolist(), *quantiles.tolist(), strict=True)
    ]


def _quantiles(parts: Sequence[tuple[Array, Array]], selected: Sequence[int]) -> tuple[Array, Array]:
    """Return (the number of values of each group; by quantile and group the nearest-rank value, in milliseconds). One
    sort has those of thousands of groups."""
    groups, values = _in_order(*_concatenated(parts))
    numbers = np.array(selected, dtype=np.int64)
    starts, ends = np.searchsorted(groups, numbers, side="left"), np.searchsorted(groups, numbers, side="right")
    counts = ends - starts
    quantiles = np.zeros((len(QUANTILES), len(numbers)))
    has_values = counts > 0
    for index, share in enumerate(QUANTILES):
        rank = np.minimum((share * counts).astype(np.int64), counts - 1)
        quantiles[index, has_values] = values[(starts + rank)[has_values]] / 1000
    return counts, quantiles


def _in_order(groups: Array, values: Array) -> tuple[Array, Array]:
    """Sort values within their groups. Both fit into one number but for waits of months, and for a million groups:
    sorting that is four times as fast as by two keys."""
    fits = len(values) and int(values.min()) >= 0 and int(values.max()) < 1 << VALUE_BITS
    if not fits or int(groups.max()) >= 1 << (63 - VALUE_BITS):
        order = np.lexsort((values, groups))
        return groups[order].astype(np.int64), values[order]
    joint = (groups.astype(np.int64) << VALUE_BITS) | values
    joint.sort()
    return joint >> VALUE_BITS, joint & ((1 << VALUE_BITS) - 1)


def _percentiles(values: Array) -> Percentiles:
    """Return the nearest-rank percentiles, in milliseconds, of values in microseconds."""
    if not len(values):
        return NO_VALUES
    indices = [min(int(share * len(values)), len(values) - 1) for share in QUANTILES]
    quantiles = np.partition(values, indices)[indices] / 1000
    return Percentiles(count=len(values), p50=quantiles[0], p95=quantiles[1], p99=quantiles[2])


def _stats(row: Sequence[int], duration: Percentiles, waited: Percentiles, ttft: Percentiles) -> Stats:
    """Return the statistics of a row of `SUMS`: column by column, as there may be thousands."""
    count, completed, failed, stopped, live, input_tokens, output_tokens, cached, reasoning, *others = row
    cost_nano, cost_unknown, cost_known, steps, tools, errors, violations, turns = others
    ended = completed + failed + stopped
    return Stats(
        count=count,
        completed=completed,
        failed=failed,
        stopped=stopped,
        live=live,
        failure_rate=failed / ended if ended else None,
        duration_ms=duration,
        waited_ms=waited,
        ttft_ms=ttft,
        tokens=TokenSums(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cached_tokens=cached,
            reasoning_tokens=reasoning,
            total_tokens=input_tokens + output_tokens,
        ),
        cost_usd=cost_nano / 1e9 if cost_known else None,
        cost_nano=cost_nano,
        cost_unknown=cost_unknown,
        turns=turns,
        steps=steps,
        tools=tools,
        errors=errors,
        violations=violations,
    )
