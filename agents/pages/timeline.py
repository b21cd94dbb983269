"""A turn's steps to scale: one bar a step, under one axis of time.

A turn that waited for its client for three hours would leave a hair of everything else, so a long
wait is drawn short, as a break in the axis; all other bars keep one scale. Places are percentages
of the width, for SVG's geometry attributes. Pure: values in, numbers and words out.
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

NARROWEST = 0.8
"""Percent of the width that a bar always has."""
BREAK = 0.25
"""A wait beyond this share of the time worked is drawn at this share."""
TICKS = 5

_MS = 1_000
_SECOND = 1_000 * _MS
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_NICE = (
    *(step * _MS for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(step * _SECOND for step in (1, 2, 5, 10, 20, 30)),
    *(step * _MINUTE for step in (1, 2, 5, 10, 20, 30)),
    *(step * _HOUR for step in (1, 2, 6, 12, 24, 48, 120, 240)),
)

Span = tuple[int, int]
"""From and to, microseconds since the turn's start."""


@dataclass(frozen=True, slots=True)
class Bar:
    """``x`` and ``width`` in percent; ``starts`` is the time since the turn's start in words; ``depth`` how
    deep it is nested; ``beside`` how many of the steps shown ran at the same time at the
    same depth."""

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
    beside: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """``breaks`` are the places, in percent, where a long wait was drawn short; ``span`` is the time that is
    drawn."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    breaks: tuple[float, ...]
    span: Span = (0, 0)


def timeline(
    turn: TurnSnapshot,
    now_us: int,
    steps: Sequence[StepSnapshot] | None = None,
    *,
    span: Span | None = None,
    depths: Mapping[int, int] | None = None,
) -> Timeline:
    """The bars of a turn's steps, or of these of them; ``now_us`` is where open bars end. ``span`` is the
    time to be drawn, else that of the steps: from the turn's start on where its first is among them."""
    shown = turn.steps if steps is None else steps
    spans = {step.key: _span(turn, step, now_us) for step in shown}
    drawn = span or _extent(shown, spans)
    axis = _Axis(drawn, _waits(shown, spans))
    deep = {step.key: (depths or {}).get(step.key, 0) for step in shown}
    beside = _beside(spans, deep)
    return Timeline(
        bars=tuple(_bar(step, spans[step.key], axis, deep[step.key], beside[step.key]) for step in shown),
        ticks=tuple(_ticks(axis)),
        breaks=tuple(round(axis.place(start), 2) for start, _end in axis.short),
        span=drawn,
    )


def _extent(shown: Sequence[StepSnapshot], spans: Mapping[int, Span]) -> Span:
    first = 0 if not shown or shown[0].number == 0 else min(start for start, _end in spans.values())
    return first, max((end for _start, end in spans.values()), default=0)


_HAIR = _MS
"""An overlap so short is none."""


def _beside(spans: Mapping[int, Span], deep: Mapping[int, int]) -> dict[int, int]:
    """How many steps ran at the same time as each of these, and as deep."""
    out = dict.fromkeys(spans, 0)
    going: list[int] = []
    for key in sorted(spans, key=lambda key: spans[key]):
        going = [other for other in going if spans[other][1] > spans[key][0] + _HAIR]
        for other in (other for other in going if deep[other] == deep[key]):
            out[key] += 1
            out[other] += 1
        going.append(key)
    return out


def _span(turn: TurnSnapshot, step: StepSnapshot, now_us: int) -> Span:
    start = max(step.started_at - turn.started_at, 0)
    end = step.completed_at if step.completed_at is not None else (turn.completed_at or now_us)
    return start, max(end - turn.started_at, start)


# ------------------------------------------------------------------------------------------ the axis


def _label(step: StepSnapshot) -> str:
    if step.type == "other" and step.detail and b'"kind":"mcp_list_tools"' in step.detail:
        return _("Tools of")
    if step.foreign and (kind := external_steps.kind_of(step)):
        return format.capitalize(external_steps.kind_word(kind))
    if _is_wait(step):
        return _("Approval") if step.detail and b'"approval":"' in step.detail else _("Client tool")
    return format.capitalize(_(STEP_TYPE_LABELS[step.type]))


def _is_wait(step: StepSnapshot) -> bool:
    return step.type == "tool_execution" and not step.server_side and not step.foreign


def _waits(steps: Sequence[StepSnapshot], spans: dict[int, Span]) -> list[Span]:
    """When nothing but the client was at work, in order."""
    busy = _joined(spans[step.key] for step in steps if not _is_wait(step))
    out: list[Span] = []
    for start, end in _joined(spans[step.key] for step in steps if _is_wait(step)):
        for other_start, other_end in busy:
            if start < other_start < end:
                out.append((start, other_start))
            if other_start < end:
                start = max(start, other_end)
        if start < end:
            out.append((start, end))
    return out


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch as one."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


class _Axis:
    """Time since the turn's start → percent of the width, in straight pieces."""

    def __init__(self, drawn: Span, waits: Sequence[Span]) -> None:
        self.start, self.end = drawn
        waits = [(max(start, self.start), min(end, self.end)) for start, end in waits]
        waits = [(start, end) for start, end in waits if start < end]
        worked = max(self.end - self.start - sum(end - start for start, end in waits), _MS)
        longest = int(worked * BREAK)
        self.short = [span for span in waits if span[1] - span[0] > longest]
        self.until = self.short[0][0] if self.short else self.end
        corners = sorted({self.start, self.end, *(corner for span in self.short for corner in span)})
        self._pieces: list[tuple[int, int, float, float]] = []
        at = 0.0
        for start, end in pairwise(corners):
            length = float(longest if (start, end) in self.short else end - start)
            self._pieces.append((start, end, at, at + length))
            at += length
        self.length = max(at, 1.0)

    def place(self, time: int) -> float:
        time = min(max(time, self.start), self.end)
        for start, end, low, high in self._pieces:
            if start <= time <= end:
                return 100 * (low + (high - low) * (time - start) / (end - start)) / self.length
        return 0.0


def _ticks(axis: _Axis) -> Iterable[Tick]:
    """Round times, up to the first break."""
    step = next((nice for nice in _NICE if axis.length / nice <= TICKS), 0) or _NICE[-1] * (
        1 + int(axis.length / TICKS / _NICE[-1])
    )
    for number in range(-(-axis.start // step), int(axis.until / step) + 1):
        x = axis.place(number * step)
        if x <= 97:
            yield Tick(round(x, 2), tick_words(number * step))


def tick_words(time: int) -> str:
    """``0``, ``200 ms``, ``1.5 s``, ``2 m``, ``1 h 3.5 s``: only what is not nought."""
    if time < _SECOND:
        return f"{time // _MS} ms" if time else "0"
    hours, minutes, seconds = time // _HOUR, time % _HOUR // _MINUTE, time % _MINUTE / _SECOND
    parts = [(hours, "h"), (minutes, "m"), (seconds, "s")]
    return " ".join(f"{amount:g} {word}" for amount, word in parts if amount)


# ------------------------------------------------------------------------------------------ the bars


def _bar(step: StepSnapshot, span: Span, axis: _Axis, depth: int, beside: int) -> Bar:
    start, end = axis.place(span[0]), axis.place(span[1])
    width = 0.0 if external_steps.is_made(step) else max(end - start, NARROWEST)
    return Bar(
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
        beside=beside,
    )


def _name(step: StepSnapshot) -> str:
    """What it worked with: of a retrieval where it looked."""
    found = step_details.read(step, step_details.Memory) if step.type == "memory_retrieval" else None
    return found.vector_db_ids if found and found.vector_db_ids else step.name


def _took(step: StepSnapshot, span: Span) -> str:
    if step.status == "awaiting_input":
        return _("waiting")
    if step.completed_at is None:
        return _("running")
    if external_steps.is_made(step):
        return format.NOTHING
    return format.duration((span[1] - span[0]) / 1000)
