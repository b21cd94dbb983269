"""The table of figures: what counts as met, how it reads, where it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.figures import CPU_SHARE, Row, Spread, Target, latency, number, spread
from bench.report import Report, merged, replace_table


def report(*rows: Row, fdatasync_ms: float = 0.5) -> Report:
    return Report("Our server", Spread(fdatasync_ms, 1.0, 200), rows=list(rows))


def test_it_allows_a_time_its_commits() -> None:
    row = Row("turn", "whole stream", 13.9, "ms", Target(12, commits=4))

    assert report(row).missed() == []
    assert report(row, fdatasync_ms=0.4).missed() == [row]


def test_it_marks_what_is_missed() -> None:
    text = report(
        Row("lists", "first page", 5, "ms", Target(10)),
        Row("sockets", "lost", 1, "", Target(0)),
        Row("create", "created", 1234.5, "per s"),
    ).markdown()

    assert "1 of 2 targets met" in text
    assert "0.50 met" in text
    assert next(line for line in text.splitlines() if "MISSED" in line).startswith("| sockets | lost")
    assert "1,234 per s" in text


def test_it_says_what_it_would_be_where_the_target_was_set() -> None:
    slow = report(
        Row("turn", "whole stream", 14.0, "ms", Target(6, commits=4, set_at=0.63), slowness=1.26),
        Row("spans", "kept", 126.0, "µs a span", Target(100), slowness=1.26),
        Row("lists", "server CPU", 60.0, CPU_SHARE, Target(30, set_at=0.63), slowness=1.26),
        Row("idle", "memory", 126.0, "MB", Target(126), slowness=1.26),
    )

    assert [slow.there(row) for row in slow.rows] == pytest.approx([8.0, 100.0, 30.0, 126.0])
    assert slow.met_there() == 4


def test_it_takes_the_middle_and_the_end_of_what_it_measured() -> None:
    row = latency("turn", "first event", [number / 1000 for number in range(101)])

    assert (row.value, row.note) == (50, "p95 95 ms, n = 101")
    assert spread([0.004]) == Spread(4, 4, 1)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (0.00123, "0.00123"), (12.345, "12.3"), (2248.8, "2,249")])
def test_it_writes_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_it_keeps_figures_and_verdicts_for_programs() -> None:
    made = report(Row("lists", "first page", 11, "ms", Target(10)))
    made.failed["turns"] = "the stream did not complete"

    kept = json.loads(made.as_json())

    assert kept["rows"][0]["met"] is False
    assert kept["failed"] == {"turns": "the stream did not complete"}


def test_it_replaces_the_table_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Before\n\n<!-- table begins -->\nold\n<!-- table ends -->\n\nAfter\n")

    replace_table(page, "| new |")

    assert page.read_text() == "# Before\n\n<!-- table begins -->\n\n| new |\n\n<!-- table ends -->\n\nAfter\n"


def test_it_does_not_touch_a_page_without_marks(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("# Before\n")

    with pytest.raises(ValueError, match="no place"):
        replace_table(page, "| new |")
    assert page.read_text() == "# Before\n"


def test_it_merges_rounds_into_their_medians() -> None:
    rounds = [report(Row("turn", "first event", value, "ms", note="n = 9")) for value in (3.0, 9.0, 4.0)]
    rounds[1].failed["turns"] = "cut"

    whole = merged(rounds)

    assert whole.rows == [Row("turn", "first event", 4.0, "ms", note="n = 9; 3 rounds, 3 to 9")]
    assert whole.failed == {"turns": "cut"}
