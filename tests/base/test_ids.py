"""The clock: what it says when the machine's own is set back or forward."""

from __future__ import annotations

import time

import pytest

from agents.base import ids
from agents.base.ids import SteadyClock

SECOND, HOUR = 1_000_000, 3_600_000_000
START = 1_795_000_000_000_000


class Machine:
    """A wall clock that can be set, and a counter that cannot."""

    def __init__(self) -> None:
        self.wall_us, self.since_boot_us = START, 5 * HOUR
        self.clock = SteadyClock(lambda: self.wall_us * 1000, lambda: self.since_boot_us * 1000)

    def passes(self, us: int, *, off_by: int = 0) -> int:
        """What the clock says after so long, the wall clock set meanwhile."""
        self.wall_us += us + off_by
        self.since_boot_us += us
        return self.clock()


def test_it_is_the_wall_clock_while_that_goes_on() -> None:
    machine = Machine()
    assert machine.clock() == START
    for us in (1, 250, SECOND, HOUR, 400 * HOUR):
        assert machine.passes(us) == machine.wall_us


@pytest.mark.parametrize("forward", [SECOND, HOUR, 365 * 24 * HOUR])
def test_a_clock_set_forward_is_followed_at_once(forward: int) -> None:
    """So is a machine that has slept: nothing counted meanwhile."""
    machine = Machine()
    machine.clock()
    assert machine.passes(10, off_by=forward) == START + 10 + forward
    assert machine.passes(SECOND) == START + 10 + forward + SECOND


@pytest.mark.parametrize("back", [SECOND, HOUR, 2 * 365 * 24 * HOUR])
def test_durations_stay_right_when_the_clock_is_set_back(back: int) -> None:
    machine = Machine()
    before = machine.clock()
    assert machine.passes(0, off_by=-back) == before
    for _ in range(10):
        now = machine.passes(SECOND)
        assert now - before == pytest.approx(SECOND, rel=0.011)
        before = now


def test_it_finds_back_to_the_wall_clock() -> None:
    machine = Machine()
    machine.clock()
    said = [machine.passes(SECOND, off_by=-20 * SECOND)] + [machine.passes(SECOND) for _ in range(2100)]
    assert said == sorted(set(said))
    assert said[-1] == machine.wall_us
    assert said[1000] > START + 900 * SECOND


def test_a_wall_clock_that_is_slowed_down_a_little_is_followed() -> None:
    """As NTP does it: at most half a thousandth."""
    machine = Machine()
    for _ in range(100):
        assert machine.passes(SECOND, off_by=-500) == machine.wall_us


def test_the_clock_of_a_process_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time_ns
    before, key = ids.now_us(), ids.new_key()
    monkeypatch.setattr(time, "time_ns", lambda: real() - HOUR * 1000)
    after, later = ids.now_us(), ids.new_key()
    assert 0 <= after - before < 60 * SECOND
    assert ids.key_time_us(later) >= ids.key_time_us(key)
