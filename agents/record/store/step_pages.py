"""Reads a page of a turn's steps, each with no more of its detail than the page shows.

Callers have checked that the turn is visible (`agents.record.store.read_turns.head`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import Select
from agents.record.models.choices import StepStatus, StepType
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import large_values, read_turns

Span = tuple[int, int]
"""From and to, microseconds since 1970."""

MAX_DEPTH = 16
"""Most enclosing steps of a step that are followed."""


@dataclass(frozen=True, slots=True)
class Landmarks:
    """Targets of links in a turn: the number after its last step, those of the first failed and of the first
    waiting step, and since when that waits (microseconds since 1970); and those of the first call in doubt."""

    total: int = 0
    failed: int | None = None
    waiting: int | None = None
    waiting_since: int | None = None
    doubtful: int | None = None
    doubtful_since: int | None = None


NO_DOUBTS: Mapping[int, int] = MappingProxyType({})
_LAST = Select(Step, "number", "turn_id = %s ORDER BY number DESC LIMIT 1")
_FIRST = Select(Step, "number started_at", "turn_id = %s AND status = %s ORDER BY number LIMIT 1")


def landmarks(
    turn: int, *, failed: bool = True, waits: bool = True, doubts: Mapping[int, int] = NO_DOUBTS
) -> Landmarks:
    """Find the landmarks of a turn. ``failed`` and ``waits`` tell whether such a step may exist: the search for one
    is slow in a turn of a hundred thousand steps. ``doubts`` are the steps whose calls are in doubt, and since when."""
    last_row = _LAST.first(turn)
    failed_row = _FIRST.first(turn, StepStatus.FAILED.value) if failed else None
    waiting_row = _FIRST.first(turn, StepStatus.AWAITING_INPUT.value) if waits else None
    first_doubt = next(iter(steps_by_key(turn, doubts)), None)
    return Landmarks(
        total=last_row[0] + 1 if last_row else 0,
        failed=failed_row[0] if failed_row else None,
        waiting=waiting_row[0] if waiting_row else None,
        waiting_since=waiting_row[1] if waiting_row else None,
        doubtful=first_doubt.number if first_doubt else None,
        doubtful_since=doubts[first_doubt.key] if first_doubt else None,
    )


# --------------------------------------------------------------------------------------------- steps


_FROM = (
    f"SELECT {read_turns.STEP}, s.parent_id, s.foreign_id, s.cost_nano, "  # noqa: S608 - made of constants only
    "d.encoding, d.body, d.error FROM agents_step s LEFT JOIN agents_stepdetail d ON d.step_id = s.id "
    "WHERE s.turn_id = %s"
)


def steps(turn: int, first: int, count: int) -> tuple[StepSnapshot, ...]:
    """Return ``count`` steps with the numbers from ``first`` on."""
    return _read(f"{_FROM} AND s.number >= %s AND s.number < %s ORDER BY s.number", [turn, first, first + count])


def steps_by_key(turn: int, keys: Collection[int]) -> tuple[StepSnapshot, ...]:
    """Return these steps of a turn, in order; those of other turns are left out."""
    if not keys:
        return ()
    marks = ", ".join(["%s"] * len(keys))
    return _read(f"{_FROM} AND s.id IN ({marks}) ORDER BY s.number", [turn, *keys])


_DETAIL = Select(StepDetail, "encoding body", "step_id = %s")


def detail(step: int) -> Iterator[bytes]:
    """Yield a step's whole detail in chunks."""
    row = _DETAIL.first(step)
    return large_values.chunks(step, large_values.outline(*row)) if row else iter(())


_TOUCHES = "AND s.started_at <= %s AND (s.completed_at IS NULL OR s.completed_at >= %s)"


def within(turn: int, span: Span, first: int, count: int) -> tuple[StepSnapshot, ...]:
    """Return ``count`` steps that ran within a span of time, with numbers from ``first`` on."""
    text = f"{_FROM} {_TOUCHES} AND s.number >= %s ORDER BY s.number LIMIT %s"
    return _read(text, [turn, span[1], span[0], first, count])


def count_within(turn: int, span: Span) -> int:
    """Count the steps that ran within a span of time."""
    text = f"SELECT count(*) FROM agents_step s WHERE s.turn_id = %s {_TOUCHES}"  # noqa: S608 - made of constants only
    with direct_cursor() as cursor:
        cursor.execute(text, [turn, span[1], span[0]])
        return int(cursor.fetchone()[0])


def _read(text: str, params: Sequence[Any]) -> tuple[StepSnapshot, ...]:
    with direct_cursor() as cursor:
        cursor.execute(text, params)
        rows = cursor.fetchall()
    return tuple(map(_step, rows))


def _step(row: tuple[Any, ...]) -> StepSnapshot:
    parent, foreign, cost_nano, kind, body, error = row[15:]
    own = {"parent": parent, "foreign": foreign or "", "cost_nano": cost_nano}
    if kind is None:
        return read_turns.step_snapshot(row[:15], None, None, **own)
    outline = large_values.outline(kind, body)
    return read_turns.step_snapshot(row[:15], outline.body, error, **own, cuts=outline.cuts)


def depths(steps: Sequence[StepSnapshot]) -> dict[int, int]:
    """Return the nesting depth of these steps, by their keys; enclosing steps need not be among them."""
    parents = {step.key: step.parent for step in steps}
    for _ in range(MAX_DEPTH):
        unknown = {parent for parent in parents.values() if parent is not None and parent not in parents}
        if not unknown:
            break
        rows = Step.objects.unscoped("its turn is visible").filter(pk__in=unknown)
        parents |= dict.fromkeys(unknown) | dict(rows.values_list("pk", "parent_id"))
    return {step.key: sum(1 for _ in _ancestors(step.key, parents)) for step in steps}


def _ancestors(key: int, parents: dict[int, int | None]) -> Iterator[int]:
    for _ in range(MAX_DEPTH):
        parent = parents.get(key)
        if parent is None:
            return
        yield parent
        key = parent


@dataclass(frozen=True, slots=True)
class StepSums:
    """What several steps have used; ``cost_nano`` is None while no cost is known."""

    tokens: int = 0
    cost_nano: int | None = None

    def __add__(self, other: StepSums) -> StepSums:
        costs = [cost for cost in (self.cost_nano, other.cost_nano) if cost is not None]
        return StepSums(self.tokens + other.tokens, sum(costs) if costs else None)


def sums_inside(turn: int) -> dict[int, StepSums]:
    """Return what the steps inside of each step of a turn have used, at any depth, by the key of that step."""
    text = (
        "SELECT p.id, p.parent_id, sum(s.input_tokens + s.output_tokens), sum(s.cost_nano) FROM agents_step s "
        "JOIN agents_step p ON p.id = s.parent_id WHERE s.turn_id = %s GROUP BY p.id, p.parent_id"
    )
    with direct_cursor() as cursor:
        cursor.execute(text, [turn])
        rows = cursor.fetchall()
    parents = {int(key): parent for key, parent, _tokens, _cost in rows}
    sums: dict[int, StepSums] = {}
    for key, _parent, tokens, cost in rows:
        own = StepSums(int(tokens or 0), None if cost is None else int(cost))
        for enclosing in (int(key), *_ancestors(int(key), parents)):
            sums[enclosing] = sums.get(enclosing, StepSums()) + own
    return sums


# ------------------------------------------------------------------------------------------ overview


@dataclass(frozen=True, slots=True)
class StepBucket:
    """The steps that began in a slice of a turn's time: how many of each type, and how many failed."""

    number: int
    types: tuple[tuple[str, int], ...]
    failed: int

    @property
    def count(self) -> int:
        return sum(count for _type, count in self.types)


_TYPE = {choice.value: choice.label for choice in StepType}


def overview(turn: int, span: Span, buckets: int) -> list[StepBucket]:
    """Count the steps of a turn in equal slices of a span of time; empty slices are left out."""
    text = (
        "SELECT (started_at - %s) * %s / %s AS slice, type, count(*), "
        "sum(CASE WHEN status = %s THEN 1 ELSE 0 END) FROM agents_step WHERE turn_id = %s GROUP BY 1, 2 ORDER BY 1, 2"
    )
    length = max(span[1] - span[0], 1)
    with direct_cursor() as cursor:
        cursor.execute(text, [span[0], buckets, length, StepStatus.FAILED.value, turn])
        rows = cursor.fetchall()
    slices: dict[int, list[tuple[str, int, int]]] = {}
    for number, type_, count, failed in rows:
        slices.setdefault(min(max(int(number), 0), buckets - 1), []).append((_TYPE[type_], int(count), int(failed)))
    return [
        StepBucket(number, tuple((type_, count) for type_, count, _ in counts), sum(failed for *_, failed in counts))
        for number, counts in sorted(slices.items())
    ]
