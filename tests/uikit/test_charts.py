"""Charts: numbers in, geometry out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from agents.pages import period_metrics
from agents.uikit import charts, format
from agents.uikit.charts import Point, Series
from tests.support.pages.markup import elements, unsafe, words

HOUR = 3_600_000_000
START = 1_793_664_000_000_000
"""2026-11-03, midnight in UTC."""
SERIES = [Series("completed", "completed"), Series("failed", "failed")]


def points(*values: tuple[float | None, ...]) -> list[Point]:
    return [Point(START + number * HOUR, each, f"/logs/?q={number}") for number, each in enumerate(values)]


def bars(*values: tuple[float | None, ...]) -> charts.Chart:
    return charts.bars(points(*values), SERIES, formatter=period_metrics.count_label, label="Turns")


def test_bars_stand_on_the_ground_one_upon_the_other() -> None:
    [column, empty] = bars((3, 1), (0, 0)).columns
    assert [(part.name, part.y, part.height) for part in column.parts] == [
        ("completed", 30.0, 90.0),
        ("failed", 0.0, 30.0),
    ]
    assert (column.slot_x, column.slot_width, column.url) == (0, 50, "/logs/?q=0")
    assert (empty.parts, empty.url) == ((), "")


def test_what_there_is_can_be_seen() -> None:
    [column] = bars((10_000, 1)).columns
    assert column.parts[1].height == charts.MIN_PART_HEIGHT
    assert all(part.y >= 0 and part.y + part.height <= charts.HEIGHT + 0.01 for part in column.parts)


def test_columns_share_the_width() -> None:
    found = bars(*[(1, 1)] * 7).columns
    assert found[-1].slot_x + found[-1].slot_width == pytest.approx(100, abs=0.01)
    assert all(each.slot_x < each.x and each.x + each.width < each.slot_x + each.slot_width for each in found)


def test_a_line_breaks_where_there_is_no_value() -> None:
    assert charts.line_path([1, 2, None, 4, None, 2, 1], 4, 100) == "M7.143 75L21.429 50M50 0h0M78.571 50L92.857 75"
    assert charts.line_path([None, None], 1) == ""


def line(*values: float | None, is_open: bool = False) -> charts.Chart:
    told = points(*((value,) for value in values))
    told[-1] = replace(told[-1], is_open=is_open)
    return charts.lines(told, SERIES[:1], formatter=format.duration, label="x")


def test_few_values_of_a_line_are_marked_and_of_many_the_single_ones() -> None:
    assert [(dot.x, dot.y) for dot in line(None, 1, None, 2).dots] == [(37.5, 60), (87.5, 0)]
    many = line(*[1.0] * 14, None, 2, None, *[1.0] * 3)
    assert [dot.x for dot in many.dots] == [77.5]


def test_the_last_part_of_a_line_that_is_not_over_is_its_own() -> None:
    assert [(path.d, path.is_open) for path in line(1, 2, 4, is_open=True).paths] == [
        ("M16.667 90L50 60", False),
        ("M50 60L83.333 0", True),
    ]
    page = drawn(line(1, 2, 4, is_open=True))
    assert [each["class"] for each in elements(page, "path")][-2:] == ["line completed", "line completed open"]
    assert "(so far)" in words(page)
    assert len(elements(page, "circle")) == 3


@pytest.mark.parametrize(
    ("most", "top", "ticks"),
    [
        (0, 1, ["1"]),
        (1, 1, ["1"]),
        (2, 2, ["1", "2"]),
        (4, 4, ["1", "2", "3", "4"]),
        (7, 8, ["2", "4", "6", "8"]),
        (10, 10, ["5", "10"]),
        (1234, 1500, ["500", "1,000", "1,500"]),
        (9_000_000, 10_000_000, ["5.0 M", "10.0 M"]),
    ],
)
def test_a_scale_has_round_numbers_and_holds_all(most: float, top: float, ticks: list[str]) -> None:
    found, lines = charts.scale(max(most, 1), period_metrics.count_label, min_step=1)
    assert found == top >= most
    assert [tick.label for tick in lines] == ticks
    assert 1 <= len(lines) <= 4
    assert lines[-1].position == 0


@pytest.mark.parametrize(
    ("most_ms", "labels"),
    [
        (3.2, ["1 ms", "2 ms", "3 ms", "4 ms"]),
        (900, ["500 ms", "1 s"]),
        (11_600, ["5 s", "10 s", "15 s"]),
        (95_000, ["30 s", "1 m", "1 m 30 s", "2 m"]),
        (5_000_000, ["30 m", "1 h", "1 h 30 m"]),
    ],
)
def test_a_scale_of_time_is_counted_as_clocks_count(most_ms: float, labels: list[str]) -> None:
    top, ticks = charts.scale(most_ms, period_metrics.duration_label, charts.DURATIONS)
    assert top >= most_ms
    assert [tick.label for tick in ticks] == labels


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
@pytest.mark.parametrize("width", [60_000_000, HOUR // 2, 3 * HOUR, 24 * HOUR])
def test_words_below_are_few_and_of_round_times(zone: str, width: int) -> None:
    found = charts.time_ticks([START + number * width for number in range(56)], ZoneInfo(zone))
    assert 1 <= len(found) <= charts.MAX_LABELS
    assert all(0 < tick.position < charts.MAX_LABEL_X for tick in found)
    if width < HOUR:
        assert all(
            tick.label[-2:] in ("00", "30", "10", "20", "40", "50", "15", "45") or "Nov" in tick.label for tick in found
        )


def test_a_day_begins_with_its_name() -> None:
    start = int(datetime(2026, 11, 3, 20, tzinfo=UTC).timestamp() * 1_000_000)
    assert "4 Nov" in [tick.label for tick in charts.time_ticks([start + number * HOUR for number in range(12)], UTC)]


def test_a_spark_goes_from_edge_to_edge() -> None:
    found = charts.sparkline([0, 2, 4])
    assert found.line == "M0 19L50 10L100 1"
    assert found.ground == "M0 20L0 19L50 10L100 1L100 20Z"
    assert charts.sparkline([0, 0]).line == charts.sparkline([3]).line == charts.sparkline([]).line == ""


def test_a_share_can_be_seen() -> None:
    assert (
        charts.bar_percent(1, 4),
        charts.bar_percent(1, 4000),
        charts.bar_percent(0, 4),
        charts.bar_percent(0, 0),
    ) == (25, 1, 0, 0)


# ------------------------------------------------------------------------------------------ templates


def drawn(chart: charts.Chart) -> str:
    page = render_to_string("uikit/charts/_chart.html", {"chart": chart, "title": "Turns", "if_empty": "No turn."})
    assert unsafe(page) == []
    return page


def test_a_chart_is_a_named_group_with_a_sentence_and_a_table_with_the_same_links() -> None:
    page = drawn(bars((3, 1), (0, None)))
    assert [each["aria-label"] for each in elements(page, "svg") if each.get("role") == "group"] == ["Turns"]
    assert "failed 1" in words(page)
    links = [each for each in elements(page, "a") if each["href"] == "/logs/?q=0"]
    assert [each.get("tabindex") for each in links] == ["-1", None, None, None]
    assert len(elements(page, "tr")) == 3


def test_every_mark_has_a_title() -> None:
    page = drawn(bars((3, 1), (2, 2)))
    assert "3 Nov 2026, 00:00: completed 3, failed 1" in words(page)
    assert len(elements(page, "title")) == 2


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_geometry_is_written_in_no_language(language: str) -> None:
    with translation.override(language):
        page = drawn(charts.lines(points((0.3, 1234.5), (1.7, 2.25)), SERIES, formatter=format.duration, label="x"))
    for each in elements(page):
        for name in ("x", "y", "width", "height", "y1", "d"):
            assert "," not in each.get(name, "")


def test_without_numbers_there_is_a_line_of_words() -> None:
    page = drawn(bars((0, 0), (None, 0)))
    assert words(page) == "Turns No turn."
    assert elements(page, "svg") == []


def test_names_are_hostile() -> None:
    series = [Series("series-1", "<script>alert(1)</script>\"'")]
    drawn(
        charts.bars(
            [Point(START, (1.0,), '/logs/?q="><script>')], series, formatter=period_metrics.cost_label, label='"><b>'
        )
    )
