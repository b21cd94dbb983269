"""The steps of a turn as a small picture: to scale, never invisible, never wider than its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.logs.pages.step_sparkline import HEIGHT, MIN_WIDTH, WIDTH, strip
from agents.logs.schemas.rows import Counts, StepMark, TokenCounts, TurnRow
from agents.record.schemas.events import StepStatus, StepType


def mark(offset_ms: float, duration_ms: float | None, *, type: StepType = "inference", **more: Any) -> StepMark:
    status: StepStatus = more.pop("status", "completed")
    return StepMark(id=1, type=type, name="x", status=status, offset_ms=offset_ms, duration_ms=duration_ms, **more)


def row(*steps: StepMark, count: int | None = None) -> TurnRow:
    return TurnRow(
        id=1,
        agent_id=None,
        agent_name="support",
        session_id=1,
        session_name="s",
        status="completed",
        stop_reason=None,
        source="native",
        api="agents",
        model="m",
        user=None,
        tags=[],
        input_preview="",
        output_preview="",
        started_at=0,
        completed_at=None,
        duration_ms=None,
        waited_ms=None,
        ttft_ms=None,
        usage=TokenCounts(),
        cost_usd=None,
        error=None,
        steps=list(steps),
        counts=Counts(steps=len(steps) if count is None else count),
    )


def test_it_draws_steps_to_scale() -> None:
    first, second = strip(row(mark(0, 1_000), mark(1_000, 3_000)), 4_000).marks
    assert second.width == pytest.approx(3 * first.width, abs=2)
    assert (first.height, second.height) == (HEIGHT, HEIGHT)


def test_a_wait_for_a_person_takes_no_room() -> None:
    before, asked, after = mark(0, 1_000), mark(1_000, None, type="tool_execution", waited_ms=12 * 3_600_000.0), None
    after = mark(12 * 3_600_000.0 + 1_000, 3_000)
    first, wait, last = strip(row(before, asked, after), 4_000).marks
    assert wait.width < first.width
    assert last.width == pytest.approx(3 * first.width, rel=0.3)
    assert "waited 12 h" in wait.title


def test_it_makes_longer_turns_longer_up_to_its_width() -> None:
    ends = [strip(row(mark(0, ms)), ms).marks[0].width for ms in (200, 2_000, 20_000, 60_000, 600_000)]
    assert ends == sorted(ends)
    assert ends[-2:] == [WIDTH, WIDTH]


def test_it_never_loses_a_short_step() -> None:
    short = strip(row(mark(0, 0.1), mark(0.1, 60_000)), 60_000).marks[0]
    assert short.width >= MIN_WIDTH * 0.95


def test_it_puts_parallel_steps_under_each_other() -> None:
    alone, one, other = strip(row(mark(0, 1_000), mark(1_000, 1_000), mark(1_000, 900)), 2_000).marks
    assert alone.height == HEIGHT
    assert one.height == other.height < HEIGHT / 2
    assert one.y + one.height <= other.y


def test_it_draws_an_open_step_until_now() -> None:
    open_step = strip(row(mark(0, 1_000), mark(1_000, None, status="in_progress")), 10_000).marks[1]
    closed = strip(row(mark(0, 1_000), mark(1_000, 9_000)), 10_000).marks[1]
    assert open_step.width == closed.width
    assert open_step.title == "inference x, in progress"


def test_it_says_in_words_what_it_shows() -> None:
    failed = mark(1_000, 5, type="tool_execution", status="failed")
    assert strip(row(mark(0, 1_000), failed), 2_000).label == "2 steps: 1 inference, 1 tool, 1 failed"
    assert strip(row(mark(0, 1_000), count=300), 2_000).label == "300 steps"
    assert strip(row(), 0).label == "0 steps"


@given(
    st.lists(
        st.builds(
            mark,
            st.floats(min_value=0, max_value=1e9),
            st.none() | st.floats(min_value=0, max_value=1e9),
        ),
        max_size=60,
    ),
    st.floats(min_value=0, max_value=1e9),
)
def test_it_stays_in_its_place(steps: list[StepMark], elapsed_ms: float) -> None:
    for rectangle in strip(row(*steps), elapsed_ms).marks:
        assert 0 <= rectangle.x <= rectangle.x + rectangle.width <= WIDTH + 0.2
        assert 0 <= rectangle.y <= rectangle.y + rectangle.height <= HEIGHT + 0.2
        assert rectangle.width >= 0
