"""Charts: numbers in, geometry out. Pure; the drawing is ``templates/agents/charts/``.

Across, places are percent of the width; down, pixels. So a chart is as wide as its place without
its words being stretched. Whatever a chart shows is also a table, with the same links.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from agents.base.timestamps import to_datetime
from agents.uikit import format, locale_formats

HEIGHT = 120
"""Pixels of what is drawn, without the words below it."""
LOWEST = 1.5
"""Pixels that the least bar has: what there is can be seen."""
GAP = 0.18
"""Share of a column that is left free."""
MOST_LABELS = 6
LAST_LABEL = 92
"""Percent across where the last words may begin: they need some room."""

Words = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Series:
    """``name`` is its class, ``title`` what it is called."""

    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Point:
    """A place across: its beginning (microseconds since 1970), its values in the order of the series (None
    for no value), the list its rows are in, and the lists of each value where they are others."""

    at_us: int
    values: tuple[float | None, ...]
    url: str = ""
    urls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """``at`` is percent across, or pixels down."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a column."""

    name: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """``x`` and ``width`` are the bar, ``left`` and ``full`` the place it stands in; ``title`` says it in
    words."""

    left: float
    full: float
    x: float
    width: float
    parts: tuple[Part, ...]
    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Path:
    """A line in a box of 100 by `HEIGHT`."""

    name: str
    d: str


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Row:
    """A point as a row of the table."""

    at_us: int
    url: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``label`` says in a sentence what is seen; without columns there is nothing to see."""

    series: tuple[Series, ...]
    columns: tuple[Column, ...]
    paths: tuple[Path, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    rows: tuple[Row, ...]
    label: str
    height: int = HEIGHT


def bars(
    points: Sequence[Point],
    series: Sequence[Series],
    *,
    words: Words,
    label: str,
    zone: tzinfo = UTC,
    least: float = 0,
) -> Chart:
    """A column for each point, its values one upon the other, the first at the bottom. ``least`` is the
    smallest distance its scale may have: 1 for what is counted in whole numbers."""
    most = max((sum(filter(None, point.values)) for point in points), default=0)
    top, up = scale(max(most, least), words, least=least)
    return _chart(points, series, words, label, zone, (top, up), stacked_to=top)


def lines(
    points: Sequence[Point],
    series: Sequence[Series],
    *,
    words: Words,
    label: str,
    zone: tzinfo = UTC,
    steps: Sequence[float] = (),
) -> Chart:
    """A line for each of the series, broken where it has no value. ``steps`` are the distances its scale
    may have, for units that are not counted in tens."""
    most = max((value for point in points for value in point.values if value is not None), default=0)
    top, up = scale(most, words, steps)
    chart = _chart(points, series, words, label, zone, (top, up))
    return replace(chart, paths=tuple(_paths(points, series, top)) if chart.columns else ())


def _chart(
    points: Sequence[Point],
    series: Sequence[Series],
    words: Words,
    label: str,
    zone: tzinfo,
    up: tuple[float, tuple[Tick, ...]],
    stacked_to: float | None = None,
) -> Chart:
    """Without lines. Nothing of it stands where there is no number but 0."""
    shown = points if any(value for point in points for value in point.values) else []
    return Chart(
        series=tuple(series),
        columns=tuple(_columns(shown, series, words, zone, stacked_to)),
        paths=(),
        across=tuple(times([point.at_us for point in shown], zone)),
        up=up[1],
        rows=tuple(_rows(shown, words)),
        label=label,
    )


# ------------------------------------------------------------------------------------------- columns


def _columns(
    points: Sequence[Point], series: Sequence[Series], words: Words, zone: tzinfo, top: float | None
) -> Iterable[Column]:
    full = 100 / max(len(points), 1)
    for number, point in enumerate(points):
        yield Column(
            left=round(number * full, 3),
            full=round(full, 3),
            x=round((number + GAP / 2) * full, 3),
            width=round(full * (1 - GAP), 3),
            parts=() if top is None else tuple(stacked(point.values, [each.name for each in series], top)),
            title=_title(point, series, words, zone),
            url=point.url if any(value is not None and value != 0 for value in point.values) else "",
        )


def stacked(values: Sequence[float | None], names: Sequence[str], top: float, height: float = HEIGHT) -> list[Part]:
    """One upon the other, from the bottom up."""
    parts, y = [], height
    for name, value in zip(names, values, strict=True):
        if value:
            tall = min(max(value / top * height, LOWEST), y)
            y -= tall
            parts.append(Part(name, round(y, 2), round(tall, 2)))
    return parts


def _title(point: Point, series: Sequence[Series], words: Words, zone: tzinfo) -> str:
    when = to_datetime(point.at_us).astimezone(zone)
    said = [
        f"{each.title} {words(value)}" for each, value in zip(series, point.values, strict=True) if value is not None
    ]
    return f"{format.date(when)}, {when:%H:%M}: {', '.join(said) or format.NOTHING}"


def _rows(points: Sequence[Point], words: Words) -> Iterable[Row]:
    for point in points:
        urls = point.urls or (point.url,) * len(point.values)
        cells = (Cell(words(value), url if value else "") for value, url in zip(point.values, urls, strict=True))
        yield Row(point.at_us, point.url, tuple(cells))


# --------------------------------------------------------------------------------------------- lines


def _paths(points: Sequence[Point], series: Sequence[Series], top: float) -> Iterable[Path]:
    for place, each in enumerate(series):
        yield Path(each.name, path([point.values[place] for point in points], top))


def path(values: Sequence[float | None], top: float, height: float = HEIGHT) -> str:
    """A line through the middle of each value's column, for a box 100 wide; a value between two missing
    ones is a dot."""
    full, drawn = 100 / max(len(values), 1), []
    for number, value in enumerate(values):
        if value is None:
            continue
        joined = number > 0 and values[number - 1] is not None
        lonely = not joined and (number + 1 == len(values) or values[number + 1] is None)
        x, y = round((number + 0.5) * full, 3), round(height - value / top * height, 2)
        drawn.append(f"{'L' if joined else 'M'}{x:g} {y:g}{'h0' if lonely else ''}")
    return "".join(drawn)


# --------------------------------------------------------------------------------------------- scales


def scale(
    most: float, words: Words, steps: Sequence[float] = (), *, least: float = 0, height: float = HEIGHT
) -> tuple[float, tuple[Tick, ...]]:
    """The value at the top, round and not below ``most``, and the lines up to it, at most four: their
    distance is one of ``steps`` if any is long enough, and never below ``least``."""
    step = next((each for each in steps if each * 4 >= most), 0) or max(_round_step(most), least)
    count = max(math.ceil(round(most / step, 9)), 1)
    top = count * step
    return top, tuple(
        Tick(round(height - number * step / top * height, 2), words(number * step)) for number in range(1, count + 1)
    )


def _round_step(most: float) -> float:
    """1, 2 or 5 times a power of ten, at most four of which reach ``most``."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most / 4))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * 4 >= most * (1 - 1e-9))


DURATIONS = tuple(
    float(ms)
    for ms in (
        *(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000),
        *(minutes * 60_000 for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)),
    )
)
"""Distances of a scale of time, in milliseconds."""

_MINUTES = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 10_080, 43_200)


def times(starts_us: Sequence[int], zone: tzinfo) -> list[Tick]:
    """Words below the columns: a few, where a round time begins."""
    starts = [to_datetime(each).astimezone(zone) for each in starts_us]
    minutes = [_minutes(start) for start in starts]
    for step in _MINUTES:
        begins = [number for number in range(1, len(minutes)) if minutes[number] // step != minutes[number - 1] // step]
        if len(begins) <= MOST_LABELS:
            full = 100 / max(len(minutes), 1)
            inside = [number for number in begins if number * full < LAST_LABEL]
            return [Tick(round(number * full, 3), _when(starts[number], step)) for number in inside]
    return []


def _minutes(moment: datetime) -> int:
    """Minutes of the wall clock since a Monday long ago."""
    return int((moment.replace(tzinfo=None) - datetime(1969, 12, 29)).total_seconds() // 60)  # noqa: DTZ001 - of the wall


def _when(moment: datetime, step: int) -> str:
    if step >= 1440 or (moment.hour, moment.minute) == (0, 0):
        return locale_formats.day(moment)
    return f"{moment:%H:%M}"


# ----------------------------------------------------------------------------------------- in a table


@dataclass(frozen=True, slots=True)
class Spark:
    """A line and the ground below it, in a box of 100 by ``height``; empty for nothing to draw."""

    line: str
    ground: str
    height: int


def spark(values: Sequence[float], height: int = 20) -> Spark:
    """A small line without a scale, from 0 to the largest value."""
    most = max(values, default=0)
    if most <= 0 or len(values) < 2:
        return Spark("", "", height)
    inside = height - 2
    step = 100 / (len(values) - 1)
    places = [
        (round(number * step, 2), round(height - 1 - value / most * inside, 2)) for number, value in enumerate(values)
    ]
    line = "L".join(f"{x:g} {y:g}" for x, y in places)
    return Spark(f"M{line}", f"M0 {height}L{line}L100 {height}Z", height)


def share(value: float, most: float) -> float:
    """How long a bar in a table is, in percent of its place: what there is can be seen."""
    return 0.0 if value <= 0 or most <= 0 else round(max(100 * value / most, 1.0), 2)
