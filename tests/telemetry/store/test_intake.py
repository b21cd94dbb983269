"""Who makes turns of reports gives way to those that bring more of them."""

from __future__ import annotations

import threading

from agents.telemetry.store.external.backpressure import Intake


def test_it_waits_until_the_last_report_is_kept() -> None:
    intake, through = Intake(), threading.Event()

    def give_way() -> None:
        intake.give_way(60)
        through.set()

    waiting = threading.Thread(target=give_way)
    with intake.taking():
        with intake.taking():
            waiting.start()
        assert not through.is_set()
    waiting.join(10)
    assert through.is_set()


def test_it_does_not_wait_for_ever() -> None:
    intake = Intake()
    with intake.taking():
        intake.give_way(0.001)
    intake.give_way(60)  # nobody is there


def test_a_report_that_fails_is_over() -> None:
    intake = Intake()
    try:
        with intake.taking():
            raise ValueError("not a report")
    except ValueError:
        intake.give_way(60)
