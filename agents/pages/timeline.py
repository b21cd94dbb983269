"""The timeline of a turn: one bar for each step, on a common time axis.

If a turn waited for its client for three hours, all other bars would be too thin to see. So a long wait is
shortened to a break in the axis; all other bars share one scale. Positions are percentages of the width, for
SVG attributes. Pure: values in, numbers and labels out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext as _

from agents.pages import external_steps, step_details
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.uikit import format
from agents.uikit.elements import STEP_TYPE_LABELS

MIN_BAR_WIDTH = 0.8
"""Percent of the width."""
MAX_WAIT_SHARE = 0.25
"""A wait longer than this share of the remaining time is shortened to it."""
MAX_TICKS = 5

_MS = 1_000
_SECOND = 1_000 * _MS
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_ROUND_STEPS_US = (
    *(step * _MS for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(step * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * _MINUTE for step in (1, 2, 5, 10, 20, 30)),
    *(step * _HOUR for step in (1, 2, 6, 12, 24, 48, 120, 240)),
)

TimeSpan = tuple[int, int]
"""Start and end in microseconds since the turn's start."""


@dataclass(frozen=True, slots=True)
class StepBar:
    """The bar of a step, ``x`` and ``width`` in percent. ``starts`` is the formatted time since the turn's start,
    ``depth`` the level of nesting, ``concurrent`` the number of visible steps of that depth at the same time."""

    number: int
    type: str
    status: str
    label: str
    name: str
    x: float
    width: float
    starts: str
    took: str
    waits: bool
    depth: int = 0
    concurrent: int = 0


@dataclass(frozen=True, slots=True)
class TimelineTick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A timeline; ``breaks`` are the positions, in percent, of shortened waits, ``span`` is the visible time."""

    bars: tuple[StepBar, ...]
    ticks: tuple[TimelineTick, ...]
    breaks: tuple[float, ...]
    span: TimeSpan = (0, 0)


def timeline(
    turn: TurnSnapshot,
    now_us: int,
    steps: Sequence[StepSnapshot] | None = None,
    *,
    span: TimeSpan | None = None,
    depths: Mapping[int, int] | None = None,
) -> Timeline:
    """The timeline of a turn's steps, or of some of them; bars of running steps end at ``now_us``. ``span`` is the
    visible time; by default that of the steps, from the turn's start if its first step is among them."""
    visible = turn.steps if steps is None else steps
    spans = {step.key: _span(turn, step, now_us) for step in visible}
    drawn_span = span or _extent(visible, spans)
    axis = _Axis(drawn_span, _waits(visible, spans))
    depth_of = {step.key: (depths or {}).get(step.key, 0) for step in visible}
    concurrent = _count_concurrent(spans, depth_of)
    return Timeline(
        bars=tuple(_bar(step, spans[step.key], axis, depth_of[step.key], concurrent[step.key]) for step in visible),
        ticks=tuple(_ticks(axis)),
        breaks=tuple(round(axis.position(start), 2) for start, _end in axis.short),
        span=drawn_span,
    )


def _extent(steps: Sequence[StepSnapshot], spans: Mapping[int, TimeSpan]) -> TimeSpan:
    first = 0 if not steps or steps[0].number == 0 else min(start for start, _end in spans.values())
    return first, max((end for _start, end in spans.values()), default=0)


_MIN_OVERLAP_US = _MS
"""A shorter overlap does not count as concurrent."""


def _count_concurrent(spans: Mapping[int, TimeSpan], depth_of: Mapping[int, int]) -> dict[int, int]:
    """For each step, how many steps of the same depth ran at the same time."""
    out = dict.fromkeys(spans, 0)
    running: list[int] = []
    for key in sorted(spans, key=lambda key: spans[key]):
        running = [other for other in running if spans[other][1] > spans[key][0] + _MIN_OVERLAP_US]
        for other in (other for other in running if depth_of[other] == depth_of[key]):
            out[key] += 1
            out[other] += 1
        running.append(key)
    return out


def _span(turn: TurnSnapshot, step: StepSnapshot, now_us: int) -> TimeSpan:
    start = max(step.started_at - turn.started_at, 0)
    end = step.completed_at if step.completed_at is not None else (turn.completed_at or now_us)
    return start, max(end - turn.started_at, start)


# ------------------------------------------------------------------------------------------ the axis


def _label(step: StepSnapshot) -> str:
    if step.type == "other" and step.detail and b'"kind":"mcp_list_tools"' in step.detail:
        return _("Tools of")
    if step.foreign and (kind := external_steps.kind_of(step)):
        return format.capitalize(external_steps.kind_label(kind))
    if _is_wait(step):
        return _("Approval") if step.detail and b'"approval":"' in step.detail else _("Client tool")
    return format.capitalize(_(STEP_TYPE_LABELS[step.type]))


def _is_wait(step: StepSnapshot) -> bool:
    return step.type == "tool_execution" and not step.server_side and not step.foreign


def _waits(steps: Sequence[StepSnapshot], spans: dict[int, TimeSpan]) -> list[TimeSpan]:
    """The times in which only the client was working, in order."""
    busy = _join(spans[step.key] for step in steps if not _is_wait(step))
    out: list[TimeSpan] = []
    for start, end in _join(spans[step.key] for step in steps if _is_wait(step)):
        for other_start, other_end in busy:
            if start < other_start < end:
                out.append((start, other_start))
            if other_start < end:
                start = max(start, other_end)
        if start < end:
            out.append((start, end))
    return out


def _join(spans: Iterable[TimeSpan]) -> list[TimeSpan]:
    """Sort time spans and join those that touch."""
    out: list[TimeSpan] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


class _Axis:
    """Map time since the turn's start to percent of the width, piecewise linear."""

    def __init__(self, drawn: TimeSpan, waits: Sequence[TimeSpan]) -> None:
        self.start, self.end = drawn
        waits = [(max(start, self.start), min(end, self.end)) for start, end in waits]
        waits = [(start, end) for start, end in waits if start < end]
        worked = max(self.end - self.start - sum(end - start for start, end in waits), _MS)
        max_wait = int(worked * MAX_WAIT_SHARE)
        self.short = [span for span in waits if span[1] - span[0] > max_wait]
        self.until = self.short[0][0] if self.short else self.end
        corners = sorted({self.start, self.end, *(corner for span in self.short for corner in span)})
        self._sections: list[tuple[int, int, float, float]] = []
        offset = 0.0
        for start, end in pairwise(corners):
            length = float(max_wait if (start, end) in self.short else end - start)
            self._sections.append((start, end, offset, offset + length))
            offset += length
        self.length = max(offset, 1.0)

    def position(self, time: int) -> float:
        time = min(max(time, self.start), self.end)
        for start, end, low, high in self._sections:
            if start <= time <= end:
                return 100 * (low + (high - low) * (time - start) / (end - start)) / self.length
        return 0.0


def _ticks(axis: _Axis) -> Iterable[TimelineTick]:
    """Ticks at round times, up to the first break."""
    step = next((nice for nice in _ROUND_STEPS_US if axis.length / nice <= MAX_TICKS), 0) or _ROUND_STEPS_US[-1] * (
        1 + int(axis.length / MAX_TICKS / _ROUND_STEPS_US[-1])
    )
    for number in range(-(-axis.start // step), int(axis.until / step) + 1):
        x = axis.position(number * step)
        if x <= 97:
            yield TimelineTick(round(x, 2), tick_label(number * step))


def tick_label(time: int) -> str:
    """A time as ``0``, ``200 ms``, ``1.5 s``, ``2 m`` or ``1 h 3.5 s``, without zero units."""
    if time < _SECOND:
        return f"{time // _MS} ms" if time else "0"
    hours, minutes, seconds = time // _HOUR, time % _HOUR // _MINUTE, time % _MINUTE / _SECOND
    parts = [(hours, "h"), (minutes, "m"), (seconds, "s")]
    return " ".join(f"{amount:g} {word}" for amount, word in parts if amount)


# ------------------------------------------------------------------------------------------ the bars


def _bar(step: StepSnapshot, span: TimeSpan, axis: _Axis, depth: int, concurrent: int) -> StepBar:
    start, end = axis.position(span[0]), axis.position(span[1])
    width = 0.0 if external_steps.is_inferred(step) else max(end - start, MIN_BAR_WIDTH)
    return StepBar(
        number=step.number,
        type=step.type,
        status=step.status,
        label=_label(step),
        name=_name(step),
        x=round(min(start, 100 - width), 2),
        width=round(width, 2),
        starts=format.duration(span[0] / 1000),
        took=_took(step, span),
        waits=_is_wait(step),
        depth=depth,
        concurrent=concurrent,
    )


def _name(step: StepSnapshot) -> str:
    """The name of a step; of a retrieval its vector databases."""
    detail = step_details.read_detail(step, step_details.StoredRetrieval) if step.type == "memory_retrieval" else None
    return detail.vector_db_ids if detail and detail.vector_db_ids else step.name


def _took(step: StepSnapshot, span: TimeSpan) -> str:
    if step.status == "awaiting_input":
        return _("waiting")
    if step.completed_at is None:
        return _("running")
    if external_steps.is_inferred(step):
        return format.NOTHING
    return format.duration((span[1] - span[0]) / 1000)
