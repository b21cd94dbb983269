"""The steps of a turn to scale, as rectangles of a small picture: a row that is a diagnosis.

The length of the whole grows with the logarithm of the duration (a minute and more fill the
place), the steps inside it are to scale. Steps that ran at the same time lie under each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from django.utils.translation import gettext, ngettext

from agents.logs.schemas.rows import StepMark, TurnRow
from agents.uikit import format
from agents.uikit.elements import status_label, type_label

WIDTH, HEIGHT = 160, 12
"""Pixels."""

NARROWEST = 2
_OPEN = 8  # a step that waits or has just begun must be seen
_GAP = 1
_LANES = 3
_FULL_MS, _SOFT_MS = 60_000, 500


@dataclass(frozen=True, slots=True)
class Mark:
    """A step's place in the picture, in pixels, and what it says when pointed at."""

    x: float
    y: float
    width: float
    height: float
    type: str
    status: str
    title: str


@dataclass(frozen=True, slots=True)
class Strip:
    """``label`` says in words what the picture shows."""

    marks: tuple[Mark, ...]
    label: str


@dataclass(frozen=True, slots=True)
class _Span:
    """A step with its times, milliseconds from the turn's start."""

    step: StepMark
    start: float
    end: float


def strip(row: TurnRow, elapsed_ms: float) -> Strip:
    """The picture of a row; ``elapsed_ms`` is how long the turn has been going or took."""
    total = max(elapsed_ms, _last_end(row.steps), 1.0)
    scale = _length(total) / total
    marks: list[Mark] = []
    reached = -float(_GAP)
    for group in _groups(_spans(row.steps, total)):
        marks += _group_marks(group, scale, reached + _GAP)
        reached = max(mark.x + mark.width for mark in marks)
    return Strip(_squeezed(marks, reached), label(row))


def _last_end(steps: Sequence[StepMark]) -> float:
    return max((step.offset_ms + (step.duration_ms or 0) for step in steps), default=0.0)


def _length(total_ms: float) -> float:
    """Pixels for a turn of that long."""
    share = log(1 + total_ms / _SOFT_MS) / log(1 + _FULL_MS / _SOFT_MS)
    return max(NARROWEST, min(WIDTH, WIDTH * share))


def _spans(steps: Sequence[StepMark], total_ms: float) -> list[_Span]:
    """In the order of their start; a step that is still open lasts until now."""
    spans = (
        _Span(step, step.offset_ms, total_ms if step.duration_ms is None else step.offset_ms + step.duration_ms)
        for step in steps
    )
    return sorted(spans, key=lambda span: span.start)


def _groups(spans: Sequence[_Span]) -> list[list[_Span]]:
    """Steps that ran at the same time, together. A hair of overlap is none."""
    groups: list[list[_Span]] = []
    end = 0.0
    for span in spans:
        if groups and span.start < end - 1:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span.end) if len(groups[-1]) > 1 else span.end
    return groups


def _group_marks(group: Sequence[_Span], scale: float, leftmost: float) -> list[Mark]:
    """One step has the full height; several share it, as many lanes as are needed, up to three."""
    lanes = _lanes(group)
    height = (HEIGHT - max(lanes) * _GAP) / (max(lanes) + 1)
    reached = [leftmost] * _LANES
    marks = []
    for span, lane in zip(group, lanes, strict=True):
        x = max(span.start * scale, reached[lane])
        width = max(_narrowest(span.step), span.end * scale - x)
        reached[lane] = x + width + _GAP
        marks.append(_mark(span.step, x, lane * (height + _GAP), width, height))
    return marks


def _lanes(group: Sequence[_Span]) -> list[int]:
    """For each step the first lane that is free by then; when all three are taken, the one that is
    free first."""
    ends = [0.0] * _LANES
    out = []
    for span in group:
        free = [lane for lane, end in enumerate(ends) if end <= span.start + 1]
        lane = free[0] if free else ends.index(min(ends))
        ends[lane] = span.end
        out.append(lane)
    return out


def _narrowest(step: StepMark) -> float:
    return NARROWEST if step.duration_ms is not None else _OPEN


def _mark(step: StepMark, x: float, y: float, width: float, height: float) -> Mark:
    status = "failed" if step.violation else step.status
    return Mark(x, y, width, height, step.type, status, _title(step))


def _squeezed(marks: Sequence[Mark], end: float) -> tuple[Mark, ...]:
    """Into the width there is, whatever the number of steps; rounded for the page."""
    share = min(1.0, WIDTH / end) if end > 0 else 1.0
    return tuple(
        Mark(
            round(mark.x * share, 1),
            round(mark.y, 1),
            round(mark.width * share, 1),
            round(mark.height, 1),
            mark.type,
            mark.status,
            mark.title,
        )
        for mark in marks
    )


def _title(step: StepMark) -> str:
    """``tool web_search, 440 ms, failed``."""
    said = [f"{type_label(step.type)} {step.name or step.kind}".strip()]
    if step.duration_ms is not None:
        said.append(format.duration(step.duration_ms))
    if step.violation:
        said.append(gettext("violation"))
    elif step.status != "completed":
        said.append(status_label(step.status))
    return ", ".join(said)


def label(row: TurnRow) -> str:
    """``5 steps: 3 inference, 2 tool``; of very many only how many."""
    total = row.counts.steps
    said = ngettext("%(count)d step", "%(count)d steps", total) % {"count": total}
    if not row.steps or total > len(row.steps):
        return said
    kinds = Counter(step.type for step in row.steps)
    parts = [f"{number} {type_label(kind)}" for kind, number in kinds.items()]
    failed = sum(step.status == "failed" for step in row.steps)
    if failed:
        parts.append(gettext("%(count)d failed") % {"count": failed})
    return f"{said}: {', '.join(parts)}"
