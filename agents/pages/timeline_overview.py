"""The whole of a turn in little, above its steps to scale: where they are dense, where they failed, what of it
is shown. Every slice of it is a link that zooms in, so that it needs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log1p

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from agents.pages.timeline import Span, tick_words
from agents.record.store.step_pages import StepBucket
from agents.uikit import format

BUCKETS = 200
SLICES = 20
HEIGHT = 36
"""Pixels."""
LOWEST = 4
_SHORTEST = 1_000  # microseconds


@dataclass(frozen=True, slots=True)
class Column:
    """The steps of one type in a slice of time; ``x`` and ``width`` in percent, the others in pixels.
    ``failed`` says once for a slice that a step of it did."""

    x: float
    width: float
    y: float
    height: float
    type: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of time that can be zoomed into."""

    x: float
    width: float
    query: str
    title: str


@dataclass(frozen=True, slots=True)
class Move:
    """A link to another part of the time; ``query`` is empty where it leads nowhere."""

    name: str
    label: str
    key: str
    query: str


@dataclass(frozen=True, slots=True)
class Overview:
    """``x`` and ``width`` are what is shown, in percent; ``total``, ``start`` and ``end`` are microseconds."""

    columns: tuple[Column, ...]
    slices: tuple[Slice, ...]
    moves: tuple[Move, ...]
    x: float
    width: float
    total: int
    start: int
    end: int
    words: str
    zoomed: bool


def read(text: str) -> Span | None:
    """``1500..3000``, milliseconds since the turn's start; None for anything else."""
    first, dots, last = text.partition("..")
    try:
        start, end = round(float(first) * 1000), round(float(last) * 1000)
    except (ValueError, OverflowError):
        return None
    return (start, max(end, start + _SHORTEST)) if dots and 0 <= start <= end < 1 << 52 else None


def query(span: Span) -> str:
    """The page's query string for a span of time."""
    return f"?view=timeline&zoom={span[0] / 1000:.15g}..{span[1] / 1000:.15g}"


def overview(buckets: Sequence[StepBucket], total: int, shown: Span, *, zoomed: bool) -> Overview:
    """``total`` is the length of the turn, ``shown`` the span of time that is drawn below it."""
    total = max(total, _SHORTEST)
    start, end = max(min(shown[0], total), 0), min(shown[1], total)
    return Overview(
        columns=tuple(_columns(buckets)),
        slices=tuple(_slices(buckets, total)),
        moves=_moves(total, (start, end), zoomed=zoomed),
        x=round(100 * start / total, 3),
        width=round(max(100 * (end - start) / total, 0.3), 3),
        total=total,
        start=start,
        end=end,
        words=_("%(start)s to %(end)s of %(total)s")
        % {"start": _words(start), "end": _words(end), "total": _words(total)},
        zoomed=zoomed,
    )


def _words(time: int) -> str:
    return tick_words(time - time % 1_000)


def _columns(buckets: Sequence[StepBucket]) -> Iterator[Column]:
    """A column for each type of a slice, one upon the other."""
    most = log1p(max((bucket.count for bucket in buckets), default=1))
    width = 100 / BUCKETS
    for bucket in buckets:
        height, y = max(LOWEST, HEIGHT * log1p(bucket.count) / most), float(HEIGHT)
        for place, (type_, count) in enumerate(bucket.types):
            part = height * count / bucket.count
            y -= part
            failed = bucket.failed > 0 and place == 0
            yield Column(round(bucket.number * width, 2), width, round(y, 1), round(part, 1), type_, failed)


def _slices(buckets: Sequence[StepBucket], total: int) -> list[Slice]:
    """Links to equal parts of the time, those without a step left out."""
    each = BUCKETS // SLICES
    out = []
    for place in range(SLICES):
        inside = [bucket for bucket in buckets if place * each <= bucket.number < (place + 1) * each]
        if inside:
            span = place * total // SLICES, (place + 1) * total // SLICES
            out.append(Slice(100 * place / SLICES, 100 / SLICES, query(span), _title(span, inside)))
    return out


def _title(span: Span, inside: Sequence[StepBucket]) -> str:
    count, failed = sum(each.count for each in inside), sum(each.failed for each in inside)
    said = [
        _("%(start)s to %(end)s") % {"start": _words(span[0]), "end": _words(span[1])},
        ngettext("%(count)s step", "%(count)s steps", count) % {"count": format.count(count)},
    ]
    if failed:
        said.append(_("%(count)s failed") % {"count": format.count(failed)})
    return ", ".join(said)


def _moves(total: int, shown: Span, *, zoomed: bool) -> tuple[Move, ...]:
    start, end = shown
    length = max(end - start, _SHORTEST)
    closer = start + length // 4, end - length // 4
    farther = max(start - length // 2, 0), min(end + length // 2, total)
    half = length // 2
    earlier = max(start - half, 0), max(start - half, 0) + length
    later = min(end + half, total) - length, min(end + half, total)
    whole = "?view=timeline"
    return (
        Move("closer", _("zoom in"), "+", query(closer) if length > 2 * _SHORTEST else ""),
        Move("farther", _("zoom out"), "-", (query(farther) if farther != (0, total) else whole) if zoomed else ""),
        Move("earlier", _("earlier"), "ArrowLeft", query(earlier) if zoomed and start > 0 else ""),
        Move("later", _("later"), "ArrowRight", query(later) if zoomed and end < total else ""),
        Move("whole", _("all of it"), "0", whole if zoomed else ""),
    )
