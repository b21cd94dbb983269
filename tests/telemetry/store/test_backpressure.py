"""Who makes turns of reports gives way to those that bring more of them."""

from __future__ import annotations

import threading

from agents.telemetry.store.external.backpressure import IngestLoad


def test_it_waits_until_the_last_report_is_kept() -> None:
    intake, through = IngestLoad(), threading.Event()

    def give_way() -> None:
        intake.wait_while_busy(60)
        through.set()

    waiting = threading.Thread(target=give_way)
    with intake.track():
        with intake.track():
            waiting.start()
        assert not through.is_set()
    waiting.join(10)
    assert through.is_set()


def test_it_does_not_wait_for_ever() -> None:
    intake = IngestLoad()
    with intake.track():
        intake.wait_while_busy(0.001)
    intake.wait_while_busy(60)  # nobody is there


def test_a_report_that_fails_is_over() -> None:
    intake = IngestLoad()
    try:
        with intake.track():
            raise ValueError("not a report")
    except ValueError:
        intake.wait_while_busy(60)
