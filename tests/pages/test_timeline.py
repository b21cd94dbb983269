"""A turn's steps to scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.pages.timeline import MIN_BAR_WIDTH, Timeline, tick_label, timeline
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot

START = 1_795_000_000_000_000
SECOND = 1_000_000


def step(number: int, start_s: float, end_s: float | None, **more: Any) -> StepSnapshot:
    made = StepSnapshot(
        key=100 + number,
        number=number,
        round=0,
        type="inference",
        name="fast",
        status="completed" if end_s is not None else "in_progress",
        server_side=True,
        started_at=START + round(start_s * SECOND),
        completed_at=None if end_s is None else START + round(end_s * SECOND),
    )
    return replace(made, **more)


def client(number: int, start_s: float, end_s: float | None, **more: Any) -> StepSnapshot:
    return step(number, start_s, end_s, type="tool_execution", name="approve", server_side=False, **more)


def drawn(*steps: StepSnapshot, now_s: float = 0, **more: Any) -> Timeline:
    turn = TurnSnapshot(
        key=1, session=2, status="in_progress", model="fast", started_at=START, input_messages=b"[]", steps=steps
    )
    return timeline(replace(turn, **more), START + round(now_s * SECOND))


def places(found: Timeline) -> list[tuple[float, float]]:
    return [(bar.x, bar.width) for bar in found.bars]


def test_it_draws_steps_in_their_place_and_length() -> None:
    found = drawn(step(0, 0, 1), step(1, 1, 4), step(2, 2, 4))
    assert places(found) == [(0.0, 25.0), (25.0, 75.0), (50.0, 50.0)]
    assert [bar.took for bar in found.bars] == ["1.0 s", "3.0 s", "2.0 s"]
    assert found.breaks == ()


def test_it_lets_an_open_step_reach_to_now() -> None:
    found = drawn(step(0, 0, 1), step(1, 1, None), now_s=2)
    assert places(found)[1] == (50.0, 50.0)
    assert found.bars[1].took == "running"


def test_it_ends_an_open_step_with_its_turn() -> None:
    found = drawn(step(0, 0, 1), step(1, 1, None), now_s=1_000, completed_at=START + 2 * SECOND)
    assert places(found)[1] == (50.0, 50.0)


def test_it_draws_the_shortest_step_and_keeps_it_inside() -> None:
    found = drawn(step(0, 0, 0), step(1, 0, 10), step(2, 10, 10))
    assert [bar.width for bar in found.bars][::2] == [MIN_BAR_WIDTH, MIN_BAR_WIDTH]
    assert all(bar.x + bar.width <= 100 for bar in found.bars)


def test_it_draws_a_long_wait_short_and_all_else_to_one_scale() -> None:
    found = drawn(step(0, 0, 1), client(1, 1, 10_801), step(2, 10_801, 10_804))
    before, wait, after = found.bars
    assert wait.width == pytest.approx(20)
    assert after.width == pytest.approx(3 * before.width)
    assert wait.took == "3 h 00 m"
    assert len(found.breaks) == 1
    assert wait.waits


def test_it_draws_a_short_wait_to_scale() -> None:
    found = drawn(step(0, 0, 9), client(1, 9, 10))
    assert places(found) == [(0.0, 90.0), (90.0, 10.0)]
    assert found.breaks == ()


def test_it_takes_only_that_for_waiting_when_nobody_else_works() -> None:
    found = drawn(client(0, 0, 100), step(1, 0, 90))
    assert places(found)[1] == (0.0, 90.0)
    assert found.breaks == ()


def test_it_says_that_a_call_still_waits() -> None:
    waiting = client(1, 1, None, status="awaiting_input")
    found = drawn(step(0, 0, 1), waiting, now_s=500)
    assert (found.bars[1].took, found.bars[1].label) == ("waiting", "Client tool")
    assert found.bars[0].width == pytest.approx(80)


def test_it_numbers_the_axis_with_round_times_up_to_the_first_break() -> None:
    assert [tick.label for tick in drawn(step(0, 0, 4.2)).ticks] == ["0", "1 s", "2 s", "3 s", "4 s"]
    with_break = drawn(step(0, 0, 1), client(1, 1, 5_000), step(2, 5_000, 5_001))
    assert [tick.label for tick in with_break.ticks] == ["0", "500 ms", "1 s"]


@pytest.mark.parametrize("seconds", [0.0004, 0.01, 0.7, 3, 45, 600, 7_000, 400_000, 90_000_000])
def test_it_has_a_handful_of_ticks_however_long_the_turn(seconds: float) -> None:
    ticks = drawn(step(0, 0, seconds)).ticks
    assert 1 <= len(ticks) <= 6
    assert ticks[0].label == "0"
    assert len({tick.label for tick in ticks}) == len(ticks)


def test_it_draws_nothing_of_a_turn_without_steps() -> None:
    found = drawn()
    assert (found.bars, [tick.label for tick in found.ticks]) == ((), ["0"])


def test_it_names_where_a_retrieval_looked() -> None:
    looked = step(0, 0, 1, type="memory_retrieval", name="retrieve", detail=b'{"vector_db_ids":"policies"}')
    assert drawn(looked).bars[0].name == "policies"


def test_it_bears_clocks_that_disagree() -> None:
    found = drawn(step(0, -5, -4), step(1, 3, 2))
    assert all(bar.x >= 0 and bar.x + bar.width <= 100 for bar in found.bars)


@pytest.mark.parametrize(
    ("time", "said"),
    [(0, "0"), (200_000, "200 ms"), (1_500_000, "1.5 s"), (60 * SECOND, "1 m"), (7_200 * SECOND, "2 h")],
)
def test_it_says_times_shortly(time: int, said: str) -> None:
    assert tick_label(time) == said
