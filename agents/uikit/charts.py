"""The geometry of charts: numbers in, positions out. Pure; ``templates/uikit/charts/`` draws them.

Horizontal positions are percent of the width, vertical ones pixels. So a chart fills its container without
stretching its labels. Each chart also has a table with the same values and links.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from agents.base.timestamps import to_datetime
from agents.uikit import format, locale_formats

HEIGHT = 120
"""Pixels of the plot, without the labels below it."""
MIN_PART_HEIGHT = 1.5
"""Pixels: a value above 0 is never too small to be seen."""
COLUMN_GAP = 0.18
"""Share of a slot that stays empty."""
MAX_LABELS = 6
MAX_DOTS = 12
"""A line of so few values has a mark at each."""
MAX_LABEL_X = 92
"""Percent of the width: a label further right would leave the chart."""

Formatter = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Series:
    """A series of values: ``name`` is its CSS class, ``title`` its heading."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Point:
    """The values of one period, in the order of the series (None for no value). ``at_us`` is where it begins
    (microseconds since 1970), ``url`` the list of its rows, ``urls`` a list for each value where they differ.
    ``is_open``: it is not over, so that its values may grow."""

    at_us: int
    values: tuple[float | None, ...]
    url: str = ""
    urls: tuple[str, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class AxisTick:
    """A labelled position on an axis, in percent (x) or pixels (y)."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """The bar of one series within a column."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """The bar of a point, at ``x`` and ``width`` inside its slot; ``title`` has its values as text."""

    slot_x: float
    slot_width: float
    x: float
    width: float
    parts: tuple[ColumnPart, ...]
    title: str
    url: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class LinePath:
    """An SVG path in a box of 100 by `HEIGHT`. One that ``is_open`` leads to a point that is not over."""

    name: str
    d: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class LineDot:
    """A mark on a line: ``x`` in percent of the width, ``y`` in pixels."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class ChartCell:
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A point as a row of the chart's table."""

    at_us: int
    url: str
    cells: tuple[ChartCell, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; ``label`` describes it in a sentence. It has no columns where there is nothing to plot."""

    series: tuple[Series, ...]
    columns: tuple[ChartColumn, ...]
    paths: tuple[LinePath, ...]
    x_ticks: tuple[AxisTick, ...]
    y_ticks: tuple[AxisTick, ...]
    rows: tuple[ChartRow, ...]
    label: str
    height: int = HEIGHT
    dots: tuple[LineDot, ...] = ()


def bars(
    points: Sequence[Point],
    series: Sequence[Series],
    *,
    formatter: Formatter,
    label: str,
    zone: tzinfo = UTC,
    min_step: float = 0,
) -> Chart:
    """Stack the values of each point in a column, the first at the bottom. ``min_step`` is the smallest
    distance between ticks: 1 for counts."""
    maximum = max((sum(filter(None, point.values)) for point in points), default=0)
    top, ticks = scale(max(maximum, min_step), formatter, min_step=min_step)
    return replace(_chart(points, series, formatter, zone, top), y_ticks=ticks, label=label)


def lines(
    points: Sequence[Point],
    series: Sequence[Series],
    *,
    formatter: Formatter,
    label: str,
    zone: tzinfo = UTC,
    steps: Sequence[float] = (),
) -> Chart:
    """Draw a line for each of the series, broken where it has no value. ``steps`` are the allowed distances
    between ticks, for units that are not decimal."""
    maximum = max((value for point in points for value in point.values if value is not None), default=0)
    top, ticks = scale(maximum, formatter, steps)
    chart = _chart(points, series, formatter, zone)
    paths = tuple(_paths(points, series, top)) if chart.columns else ()
    dots = tuple(_dots(points, series, top)) if chart.columns else ()
    return replace(chart, paths=paths, dots=dots, y_ticks=ticks, label=label)


def _chart(
    points: Sequence[Point],
    series: Sequence[Series],
    formatter: Formatter,
    zone: tzinfo,
    stacked_to: float | None = None,
) -> Chart:
    """A chart without lines, vertical ticks and label; it is empty where every value is 0 or missing."""
    plotted = points if any(value for point in points for value in point.values) else []
    return Chart(
        series=tuple(series),
        columns=tuple(_columns(plotted, series, formatter, zone, stacked_to)),
        paths=(),
        x_ticks=tuple(time_ticks([point.at_us for point in plotted], zone)),
        y_ticks=(),
        rows=tuple(_rows(plotted, formatter)),
        label="",
    )


# ------------------------------------------------------------------------------------------- columns


def _columns(
    points: Sequence[Point], series: Sequence[Series], formatter: Formatter, zone: tzinfo, top: float | None
) -> Iterable[ChartColumn]:
    full = 100 / max(len(points), 1)
    for number, point in enumerate(points):
        yield ChartColumn(
            slot_x=round(number * full, 3),
            slot_width=round(full, 3),
            x=round((number + COLUMN_GAP / 2) * full, 3),
            width=round(full * (1 - COLUMN_GAP), 3),
            parts=() if top is None else tuple(stacked_parts(point.values, [item.name for item in series], top)),
            title=_title(point, series, formatter, zone),
            url=point.url if any(value is not None and value != 0 for value in point.values) else "",
            is_open=point.is_open,
        )


def stacked_parts(
    values: Sequence[float | None], names: Sequence[str], top: float, height: float = HEIGHT
) -> list[ColumnPart]:
    """The parts of a column, stacked from the bottom up."""
    parts, y = [], height
    for name, value in zip(names, values, strict=True):
        if value:
            part_height = min(max(value / top * height, MIN_PART_HEIGHT), y)
            y -= part_height
            parts.append(ColumnPart(name, round(y, 2), round(part_height, 2)))
    return parts


def _title(point: Point, series: Sequence[Series], formatter: Formatter, zone: tzinfo) -> str:
    when = to_datetime(point.at_us).astimezone(zone)
    parts = [
        f"{item.title} {formatter(value)}"
        for item, value in zip(series, point.values, strict=True)
        if value is not None
    ]
    return f"{format.date(when)}, {when:%H:%M}: {', '.join(parts) or format.NOTHING}"


def _rows(points: Sequence[Point], formatter: Formatter) -> Iterable[ChartRow]:
    for point in points:
        urls = point.urls or (point.url,) * len(point.values)
        cells = (
            ChartCell(formatter(value), url if value else "") for value, url in zip(point.values, urls, strict=True)
        )
        yield ChartRow(point.at_us, point.url, tuple(cells))


# --------------------------------------------------------------------------------------------- lines


def _paths(points: Sequence[Point], series: Sequence[Series], top: float) -> Iterable[LinePath]:
    for index, item in enumerate(series):
        values = [point.values[index] for point in points]
        if not points[-1].is_open:
            yield LinePath(item.name, line_path(values, top))
            continue
        yield LinePath(item.name, line_path([*values[:-1], None], top))
        yield LinePath(item.name, line_path([*[None] * (len(values) - 2), *values[-2:]], top), is_open=True)


def _dots(points: Sequence[Point], series: Sequence[Series], top: float) -> Iterable[LineDot]:
    """The marks of values that a line alone would not show: single ones, and all where there are few."""
    for index, item in enumerate(series):
        values = [None, *(point.values[index] for point in points), None]
        are_few = sum(value is not None for value in values) <= MAX_DOTS
        for number, value in enumerate(values[1:-1]):
            if value is not None and (are_few or values[number] is None is values[number + 2]):
                yield LineDot(item.name, *_place(number, value, len(points), top))


def _place(number: int, value: float, count: int, top: float, height: float = HEIGHT) -> tuple[float, float]:
    """Where a value stands in a box 100 wide: in the middle of its column."""
    return round((number + 0.5) * 100 / count, 3), round(height - value / top * height, 2)


def line_path(values: Sequence[float | None], top: float, height: float = HEIGHT) -> str:
    """An SVG path through the middle of each value's column, in a box 100 wide; a value between two missing
    ones is a dot."""
    commands = []
    for number, value in enumerate(values):
        if value is None:
            continue
        joined = number > 0 and values[number - 1] is not None
        is_alone = not joined and (number + 1 == len(values) or values[number + 1] is None)
        x, y = _place(number, value, len(values), top, height)
        commands.append(f"{'L' if joined else 'M'}{x:g} {y:g}{'h0' if is_alone else ''}")
    return "".join(commands)


# --------------------------------------------------------------------------------------------- scales


def scale(
    maximum: float, formatter: Formatter, steps: Sequence[float] = (), *, min_step: float = 0, height: float = HEIGHT
) -> tuple[float, tuple[AxisTick, ...]]:
    """The value at the top, round and not below ``maximum``, and at most four ticks up to it. Their distance
    is one of ``steps`` if any is long enough, and never below ``min_step``."""
    step = next((distance for distance in steps if distance * 4 >= maximum), 0) or max(_round_step(maximum), min_step)
    count = max(math.ceil(round(maximum / step, 9)), 1)
    top = count * step
    return top, tuple(
        AxisTick(round(height - number * step / top * height, 2), formatter(number * step))
        for number in range(1, count + 1)
    )


def _round_step(maximum: float) -> float:
    """1, 2 or 5 times a power of ten, at most four of which reach ``maximum``."""
    if maximum <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(maximum / 4))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * 4 >= maximum * (1 - 1e-9))


DURATIONS = tuple(
    float(ms)
    for ms in (
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000),
        *(minutes * 60_000 for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)),
    )
)
"""Distances between ticks of a duration, in milliseconds."""

_MINUTES = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10_080, 43_200)


def time_ticks(starts_us: Sequence[int], zone: tzinfo) -> list[AxisTick]:
    """A few labels below the columns, where a round time begins."""
    starts = [to_datetime(start_us).astimezone(zone) for start_us in starts_us]
    minutes = [_minutes(start) for start in starts]
    for step in _MINUTES:
        begins = [number for number in range(1, len(minutes)) if minutes[number] // step != minutes[number - 1] // step]
        if len(begins) <= MAX_LABELS:
            full = 100 / max(len(minutes), 1)
            inside = [number for number in begins if number * full < MAX_LABEL_X]
            return [AxisTick(round(number * full, 3), _time_label(starts[number], step)) for number in inside]
    return []


def _minutes(local_time: datetime) -> int:
    """Minutes of the wall clock since a Monday long ago."""
    return int((local_time.replace(tzinfo=None) - datetime(1969, 12, 29)).total_seconds() // 60)  # noqa: DTZ001 - of the wall


def _time_label(local_time: datetime, step_minutes: int) -> str:
    if step_minutes >= 1440 or (local_time.hour, local_time.minute) == (0, 0):
        return locale_formats.day(local_time)
    return f"{local_time:%H:%M}"


# ----------------------------------------------------------------------------------------- in a table


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line and the area below it, as SVG paths in a box of 100 by ``height``; empty without values."""

    line: str
    ground: str
    height: int


def sparkline(values: Sequence[float], height: int = 20) -> Sparkline:
    """A small line without a scale, from 0 to the largest value."""
    maximum = max(values, default=0)
    if maximum <= 0 or len(values) < 2:
        return Sparkline("", "", height)
    inside = height - 2
    step = 100 / (len(values) - 1)
    coordinates = [
        (round(number * step, 2), round(height - 1 - value / maximum * inside, 2))
        for number, value in enumerate(values)
    ]
    line = "L".join(f"{x:g} {y:g}" for x, y in coordinates)
    return Sparkline(f"M{line}", f"M0 {height}L{line}L100 {height}Z", height)


def bar_percent(value: float, maximum: float) -> float:
    """The length of a bar in a table, in percent; a value above 0 is never too short to be seen."""
    return 0.0 if value <= 0 or maximum <= 0 else round(max(100 * value / maximum, 1.0), 2)
