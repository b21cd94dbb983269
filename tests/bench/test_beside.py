"""Two servers measured in turn: one table, and the ratio of each figure."""

from __future__ import annotations

from bench.beside import markdown
from bench.figures import Row, Spread
from bench.report import Report


def report(server: str, *rows: Row) -> Report:
    return Report(server, Spread(0.5, 1.0, 200), rows=list(rows))


def cells(text: str, what: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {what} ")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_it_shows_the_median_of_the_ratios_of_rounds() -> None:
    """A round in which the machine was slow for both changes nothing."""
    rounds = [
        (report("Ours", Row("turn", "CPU", ours, "µs")), report("Theirs", Row("turn", "CPU", theirs, "µs")))
        for ours, theirs in ((20.0, 200.0), (40.0, 400.0), (20.0, 300.0))
    ]

    assert cells(markdown(rounds), "turn") == ["turn", "CPU", "20 µs", "300 µs", "10 ×", "3, 10 to 15"]


def test_it_says_what_one_of_them_has_not() -> None:
    ours = report("Ours", Row("whole turn", "whole answer", 5.0, "ms"))
    theirs = report("Theirs")
    theirs.skipped["whole-turn"] = "501"

    text = markdown([(ours, theirs)])

    assert cells(text, "whole turn") == ["whole turn", "whole answer", "5 ms", "", "", ""]
    assert "- Theirs, has not: whole-turn: 501" in text
