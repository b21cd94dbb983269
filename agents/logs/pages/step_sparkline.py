"""Draw the steps of a turn to scale, as rectangles of a small picture in its row.

The length of the picture grows with the logarithm of the turn's duration (a minute and more fill the
width), the steps inside it are to scale. Waiting for a person or the client is no part of the duration: a step
that did nothing else has the least width. Steps that ran at the same time are stacked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log

from django.utils.translation import gettext, ngettext

from agents.logs.schemas.rows import StepMark, TurnRow
from agents.uikit import format
from agents.uikit.elements import status_label, type_label

WIDTH, HEIGHT = 160, 12
"""Pixels."""

MIN_WIDTH = 2
_MIN_OPEN_WIDTH = 8  # a step that waits, waited, or has just begun must be seen
_GAP = 1
_LANES = 3
_FULL_MS, _SOFT_MS = 60_000, 500


@dataclass(frozen=True, slots=True)
class StepRectangle:
    """A step's rectangle in the picture, in pixels; ``title`` is its tooltip."""

    x: float
    y: float
    width: float
    height: float
    type: str
    status: str
    title: str


@dataclass(frozen=True, slots=True)
class StepSparkline:
    """The picture of a turn; ``label`` describes it for screen readers."""

    marks: tuple[StepRectangle, ...]
    label: str


@dataclass(frozen=True, slots=True)
class _Span:
    """A step with its times, milliseconds from the turn's start without waits."""

    step: StepMark
    start: float
    end: float


def strip(row: TurnRow, elapsed_ms: float) -> StepSparkline:
    """Draw the picture of a row; ``elapsed_ms`` is the turn's duration so far, or in all."""
    drawn_ms = _without_waits(row.steps)
    total = max(elapsed_ms, max((drawn_ms(_end_ms(step)) for step in row.steps), default=0.0), 1.0)
    scale = _length(total) / total
    marks: list[StepRectangle] = []
    right_edge = -float(_GAP)
    for group in _groups(_spans(_as_waiting(row), drawn_ms, total)):
        marks += _group_marks(group, scale, right_edge + _GAP)
        right_edge = max(mark.x + mark.width for mark in marks)
    return StepSparkline(_squeeze(marks, right_edge), label(row))


def _as_waiting(row: TurnRow) -> Sequence[StepMark]:
    """Return the steps of a row; calls that nobody knows the outcome of wait for a decision, and do not run."""
    if not row.undecided:
        return row.steps
    waiting = {"status": "awaiting_input"}
    return [step.model_copy(update=waiting) if step.status == "in_progress" else step for step in row.steps]


def _end_ms(step: StepMark) -> float:
    return step.offset_ms + (step.duration_ms or 0) + (step.waited_ms or 0)


def _without_waits(steps: Sequence[StepMark]) -> Callable[[float], float]:
    """Return the function from a time since the turn's start to the same without the waits before it. What a step
    waited lies at its end."""
    waits: list[tuple[float, float]] = []
    for start, end in sorted((_end_ms(step) - step.waited_ms, _end_ms(step)) for step in steps if step.waited_ms):
        if waits and start <= waits[-1][1]:
            waits[-1] = waits[-1][0], max(end, waits[-1][1])
        else:
            waits.append((start, end))
    return lambda at_ms: at_ms - sum(min(end, at_ms) - start for start, end in waits if start < at_ms)


def _length(total_ms: float) -> float:
    """Return the width in pixels for a turn of this duration."""
    share = log(1 + total_ms / _SOFT_MS) / log(1 + _FULL_MS / _SOFT_MS)
    return max(MIN_WIDTH, min(WIDTH, WIDTH * share))


def _spans(steps: Sequence[StepMark], drawn_ms: Callable[[float], float], total_ms: float) -> list[_Span]:
    """Return the steps in the order of their start; one that is still open lasts until now."""
    spans = (
        _Span(step, drawn_ms(step.offset_ms), total_ms if _is_open(step) else drawn_ms(_end_ms(step))) for step in steps
    )
    return sorted(spans, key=lambda span: span.start)


def _groups(spans: Sequence[_Span]) -> list[list[_Span]]:
    """Group steps that ran at the same time. An overlap of less than a millisecond does not count."""
    groups: list[list[_Span]] = []
    end = 0.0
    for span in spans:
        if groups and span.start < end - 1:
            groups[-1].append(span)
        else:
            groups.append([span])
        end = max(end, span.end) if len(groups[-1]) > 1 else span.end
    return groups


def _group_marks(group: Sequence[_Span], scale: float, leftmost: float) -> list[StepRectangle]:
    """Draw a group: one step has the full height; several share it in up to three lanes."""
    lanes = _lanes(group)
    height = (HEIGHT - max(lanes) * _GAP) / (max(lanes) + 1)
    right_edges = [leftmost] * _LANES
    marks = []
    for span, lane in zip(group, lanes, strict=True):
        x = max(span.start * scale, right_edges[lane])
        width = max(_min_width(span.step), span.end * scale - x)
        right_edges[lane] = x + width + _GAP
        marks.append(_mark(span.step, x, lane * (height + _GAP), width, height))
    return marks


def _lanes(group: Sequence[_Span]) -> list[int]:
    """Assign each step to the first free lane; when none of the three is free, to the one that is free first."""
    ends = [0.0] * _LANES
    lane_of = []
    for span in group:
        free = [lane for lane, end in enumerate(ends) if end <= span.start + 1]
        lane = free[0] if free else ends.index(min(ends))
        ends[lane] = span.end
        lane_of.append(lane)
    return lane_of


def _min_width(step: StepMark) -> float:
    return MIN_WIDTH if step.duration_ms is not None else _MIN_OPEN_WIDTH


def _is_open(step: StepMark) -> bool:
    return step.duration_ms is None and step.waited_ms is None


def _mark(step: StepMark, x: float, y: float, width: float, height: float) -> StepRectangle:
    status = "failed" if step.violation else step.status
    return StepRectangle(x, y, width, height, step.type, status, _title(step))


def _squeeze(marks: Sequence[StepRectangle], end: float) -> tuple[StepRectangle, ...]:
    """Scale the rectangles into the available width, and round for the page."""
    share = min(1.0, WIDTH / end) if end > 0 else 1.0
    return tuple(
        StepRectangle(
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
    parts = [f"{type_label(step.type)} {step.name or step.kind}".strip()]
    if step.duration_ms is not None:
        parts.append(format.duration(step.duration_ms))
    if step.waited_ms:
        parts.append(gettext("waited %(time)s") % {"time": format.duration(step.waited_ms)})
    if step.violation:
        parts.append(gettext("violation"))
    elif step.status != "completed":
        parts.append(status_label(step.status))
    return ", ".join(parts)


def label(row: TurnRow) -> str:
    """``5 steps: 3 inference, 2 tool``; of very many only how many."""
    total = row.counts.steps
    text = ngettext("%(count)d step", "%(count)d steps", total) % {"count": total}
    if not row.steps or total > len(row.steps):
        return text
    kinds = Counter(step.type for step in row.steps)
    parts = [f"{number} {type_label(kind)}" for kind, number in kinds.items()]
    failed = sum(step.status == "failed" for step in row.steps)
    if failed:
        parts.append(gettext("%(count)d failed") % {"count": failed})
    return f"{text}: {', '.join(parts)}"
