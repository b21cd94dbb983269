"""The overview above a turn's timeline: density of steps, failures, and the visible part. Every slice is a link
that zooms in, so that it works without a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.pages.timeline import TimeSpan, tick_label
from agents.record.store.step_pages import StepBucket
from agents.uikit import format

BUCKETS = 200
SLICES = 20
HEIGHT = 36
"""Pixels."""
MIN_HEIGHT = 4
_MIN_LENGTH_US = 1_000  # microseconds


@dataclass(frozen=True, slots=True)
class OverviewColumn:
    """The steps of one type in a bucket of time; ``x`` and ``width`` in percent, the others in pixels. ``failed`` is
    set once per bucket, if one of its steps failed."""

    x: float
    width: float
    y: float
    height: float
    type: str
    failed: bool


@dataclass(frozen=True, slots=True)
class OverviewSlice:
    """A slice of time, and the link that zooms into it."""

    x: float
    width: float
    query: str
    title: str


@dataclass(frozen=True, slots=True)
class OverviewMove:
    """A link to another part of the time; ``query`` is empty if the move is not possible."""

    name: str
    label: str
    key: str
    query: str


@dataclass(frozen=True, slots=True)
class TimelineOverview:
    """The overview of a turn. ``x`` and ``width`` are the visible part in percent; ``total``, ``start`` and ``end``
    are microseconds."""

    columns: tuple[OverviewColumn, ...]
    slices: tuple[OverviewSlice, ...]
    moves: tuple[OverviewMove, ...]
    x: float
    width: float
    total: int
    start: int
    end: int
    label: str
    zoomed: bool


def parse_span(text: str) -> TimeSpan | None:
    """Parse ``1500..3000``, milliseconds since the turn's start; None for anything else."""
    first, dots, last = text.partition("..")
    try:
        start, end = round(float(first) * 1000), round(float(last) * 1000)
    except (ValueError, OverflowError):
        return None
    return (start, max(end, start + _MIN_LENGTH_US)) if dots and 0 <= start <= end < 1 << 52 else None


def span_query(span: TimeSpan) -> str:
    """The page's query string for a time span."""
    return f"?view=timeline&zoom={span[0] / 1000:.15g}..{span[1] / 1000:.15g}"


def overview(buckets: Sequence[StepBucket], total: int, visible: TimeSpan, *, zoomed: bool) -> TimelineOverview:
    """Build the overview; ``total`` is the length of the turn, ``visible`` the span of the timeline below it."""
    total = max(total, _MIN_LENGTH_US)
    start, end = max(min(visible[0], total), 0), min(visible[1], total)
    return TimelineOverview(
        columns=tuple(_columns(buckets)),
        slices=tuple(_slices(buckets, total)),
        moves=_moves(total, (start, end), zoomed=zoomed),
        x=round(100 * start / total, 3),
        width=round(max(100 * (end - start) / total, 0.3), 3),
        total=total,
        start=start,
        end=end,
        label=_("%(start)s to %(end)s of %(total)s")
        % {"start": _time_label(start), "end": _time_label(end), "total": _time_label(total)},
        zoomed=zoomed,
    )


def _time_label(time: int) -> str:
    return tick_label(time - time % 1_000)


def _columns(buckets: Sequence[StepBucket]) -> Iterator[OverviewColumn]:
    """Stacked columns, one for each type in a bucket."""
    maximum = log1p(max((bucket.count for bucket in buckets), default=1))
    width = 100 / BUCKETS
    for bucket in buckets:
        height, y = max(MIN_HEIGHT, HEIGHT * log1p(bucket.count) / maximum), float(HEIGHT)
        for index, (type_, count) in enumerate(bucket.types):
            part = height * count / bucket.count
            y -= part
            failed = bucket.failed > 0 and index == 0
            yield OverviewColumn(round(bucket.number * width, 2), width, round(y, 1), round(part, 1), type_, failed)


def _slices(buckets: Sequence[StepBucket], total: int) -> list[OverviewSlice]:
    """Links to equal slices of time, except those without a step."""
    size = BUCKETS // SLICES
    out = []
    for number in range(SLICES):
        inside = [bucket for bucket in buckets if number * size <= bucket.number < (number + 1) * size]
        if inside:
            span = number * total // SLICES, (number + 1) * total // SLICES
            out.append(OverviewSlice(100 * number / SLICES, 100 / SLICES, span_query(span), _title(span, inside)))
    return out


def _title(span: TimeSpan, inside: Sequence[StepBucket]) -> str:
    count, failed = sum(bucket.count for bucket in inside), sum(bucket.failed for bucket in inside)
    parts = [
        _("%(start)s to %(end)s") % {"start": _time_label(span[0]), "end": _time_label(span[1])},
        ngettext("%(count)s step", "%(count)s steps", count) % {"count": format.count(count)},
    ]
    if failed:
        parts.append(_("%(count)s failed") % {"count": format.count(failed)})
    return ", ".join(parts)


def _moves(total: int, visible: TimeSpan, *, zoomed: bool) -> tuple[OverviewMove, ...]:
    start, end = visible
    length = max(end - start, _MIN_LENGTH_US)
    closer = start + length // 4, end - length // 4
    farther = max(start - length // 2, 0), min(end + length // 2, total)
    half = length // 2
    earlier = max(start - half, 0), max(start - half, 0) + length
    later = min(end + half, total) - length, min(end + half, total)
    full = "?view=timeline"
    return (
        OverviewMove("closer", _("zoom in"), "+", span_query(closer) if length > 2 * _MIN_LENGTH_US else ""),
        OverviewMove(
            "farther", _("zoom out"), "-", (span_query(farther) if farther != (0, total) else full) if zoomed else ""
        ),
        OverviewMove("earlier", _("earlier"), "ArrowLeft", span_query(earlier) if zoomed and start > 0 else ""),
        OverviewMove("later", _("later"), "ArrowRight", span_query(later) if zoomed and end < total else ""),
        OverviewMove("whole", _("all of it"), "0", full if zoomed else ""),
    )
