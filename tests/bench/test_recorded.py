"""What has become worse since it was recorded, in words: by ratios, and only where these hold still."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.figures import FOUND, RATE, Row, Spread
from bench.recorded import Recorded, compared, read, record
from bench.report import Report

CPU = Row("turn, fake-200, 8 at a time", "server CPU per token", 25.0, "µs", slowness=1.25)
MEMORY = Row("idle", "resident memory", 100.0, "MB", slowness=1.25)
CREATED = Row("create agents", "created", 400.0, RATE, slowness=1.25)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return kept(tmp_path / "recorded.json", [CPU, MEMORY, CREATED])


def kept(path: Path, *rounds: Sequence[Row]) -> Recorded:
    record([Report("Our server", Spread(0.5, 1.0, 200), rows=list(rows)) for rows in rounds], path)
    return read(path)


def told(recorded: Recorded, *rows: Row, whole: bool = False) -> list[str]:
    return list(compared(rows, recorded, whole=whole))


def test_it_names_a_regression(recorded: Recorded) -> None:
    assert told(recorded, replace(CPU, value=28.5), MEMORY) == [
        "turn, fake-200, 8 at a time: server CPU per token is 14 % more than recorded (ratio 22.8, recorded 20).",
        "Within 10 % of what is recorded: 1 figure; better: 0; worse: 1.",
    ]


def test_it_says_first_that_another_machine_was_recorded(recorded: Recorded) -> None:
    """One commit was up to 55 % over its own record on another processor, where the system costs more beside Python."""
    elsewhere = replace(recorded, machine="an abacus", at="2026-11-29")

    first, *others = told(elsewhere, CPU)

    assert first.startswith("Recorded on another machine (an abacus, 2026-11-29):")
    assert others == told(recorded, CPU)


def test_it_names_the_worst_first(recorded: Recorded) -> None:
    worse, worst = replace(MEMORY, value=120.0), replace(CPU, value=50.0)

    assert [line.partition(":")[0] for line in told(recorded, worse, worst)[:2]] == [CPU.what, MEMORY.what]


def test_a_slower_machine_is_not_a_regression(recorded: Recorded) -> None:
    slower = [replace(CPU, value=50.0), replace(CREATED, value=200.0)]

    [line] = told(recorded, *(replace(row, slowness=2.5) for row in slower))

    assert line == "Within 10 % of what is recorded: 2 figures; better: 0; worse: 0."


def test_memory_does_not_depend_on_the_machine(recorded: Recorded) -> None:
    assert "20 % more" in told(recorded, replace(MEMORY, value=120.0, slowness=2.5))[0]


def test_an_improvement_is_not_a_regression(recorded: Recorded) -> None:
    [line] = told(recorded, replace(CPU, value=12.5), replace(CREATED, value=800.0))

    assert line == "Within 10 % of what is recorded: 0 figures; better: 2; worse: 0."


@pytest.mark.parametrize("unit", [RATE, FOUND])
def test_fewer_are_worse_where_more_is_better(unit: str, tmp_path: Path) -> None:
    row = replace(CREATED, unit=unit)
    recorded = kept(tmp_path / "recorded.json", [row])

    assert "created is 20 % less than recorded" in told(recorded, replace(row, value=320.0))[0]
    assert "created is 100 % less than recorded" in told(recorded, replace(row, value=0.0))[0]


def test_it_says_what_is_missing(recorded: Recorded) -> None:
    new = Row("turn", "first event", 3.0, "ms")

    lines = told(recorded, CPU, new, whole=True)

    assert lines[1:] == [
        "Not recorded: turn: first event.",
        "Recorded, but not measured this time: create agents: created; idle: resident memory.",
    ]
    assert told(recorded, CPU) == lines[:1]  # of some cases nobody expects the others


def test_it_does_not_judge_what_never_holds_still(tmp_path: Path) -> None:
    moving = [[replace(CPU, value=value), MEMORY] for value in (20.0, 25.0, 30.0)]
    recorded = kept(tmp_path / "recorded.json", *moving)

    assert told(recorded, replace(CPU, value=90.0), MEMORY) == [
        "Within 10 % of what is recorded: 1 figure; better: 0; worse: 0.",
        "Not compared, because they moved by more than 10 % when they were recorded: 1 figure.",
    ]


def test_it_records_the_middle_of_rounds_and_keeps_other_figures(tmp_path: Path) -> None:
    path = tmp_path / "recorded.json"
    kept(path, [MEMORY, CPU])

    recorded = kept(path, *([replace(CPU, value=value)] for value in (25.0, 26.0, 25.5)))

    assert recorded.figures[CPU.key].ratio == 20.4
    assert recorded.figures[CPU.key].moved == pytest.approx(0.039, abs=0.001)
    assert recorded.figures[MEMORY.key].ratio == 100.0


def test_nothing_is_recorded_without_a_file(tmp_path: Path) -> None:
    lines = told(read(tmp_path / "none.json"), CPU)

    assert lines[1:] == [f"Not recorded: {CPU.key}."]
