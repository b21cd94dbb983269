"""A run's way into the store: nothing it says is left behind, whoever writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.base.store import keys
from agents.base.store.writer import writer
from agents.loop.recording import DeltaWriter, Recording
from agents.record.bus import TurnLog
from agents.record.schemas.events import START, Delta, position
from agents.record.store import replay
from tests.support.builders import make_turn

SCRIPT = "say One two three four five six."


def test_deltas_that_an_event_takes_along_are_not_handed_over(run_async: Callable[[Any], Any]) -> None:
    made = make_turn(keys.local(), SCRIPT, upto=1)

    async def record() -> list[object]:
        recording = Recording(made.leg, TurnLog(made.turn, START), DeltaWriter(), stop=lambda: pytest.fail("it stops"))
        handed: list[object] = []
        for entry in made.entries[1:]:
            recording.add([entry] if isinstance(entry, Delta) else entry)
            handed += [] if isinstance(entry, Delta) else [recording.take_deltas()]
        await recording.flush()
        return handed

    writer.start()
    try:
        assert set(run_async(record())) == {None}
    finally:
        writer.stop()
    assert replay.load(made.turn) == list(made.entries)


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_what_a_log_let_go_is_in_the_store(run_async: Callable[[Any], Any], most: int) -> None:
    made = make_turn(keys.local(), f"repeat 3000 word\n{SCRIPT}")
    log = TurnLog(made.turn, START)

    async def take() -> None:
        for entry in made.entries:
            log.append((entry,))
            log.mark_stored(position(entry))

    run_async(take())
    assert log.entries_after(START, most) is None
    seen, after = [], START
    while log.entries_after(after, most) is None:
        seen += replay.window(made.turn, after, most)
        after = position(seen[-1])
    while fresh := log.entries_after(after, most):
        seen += fresh
        after = position(fresh[-1])
    assert seen == list(made.entries)


def test_a_large_event_stays_no_longer_than_it_must(run_async: Callable[[Any], Any]) -> None:
    made = make_turn(keys.local(), f"say {'long ' * 100_000}")
    log = TurnLog(made.turn, START)

    async def take() -> None:
        log.append(made.entries)
        log.mark_stored(position(made.entries[-1]))

    run_async(take())
    assert log.entries_after(position(made.entries[-2]), 10) is None
    assert replay.window(made.turn, position(made.entries[-2])) == [made.entries[-1]]


def test_a_window_holds_a_bounded_weight(run_async: Callable[[Any], Any]) -> None:
    call = '{"query": "%s"}' % ("x" * 600_000)
    made = make_turn(keys.local(), "\nthen\n".join([f"call lookup {call}"] * 4), max_infer_iters=5)
    seen, after = [], START
    while fresh := replay.window(made.turn, after):
        weights = [len(entry.model_dump_json()) for entry in fresh if not isinstance(entry, Delta)]
        assert len(weights) < 2 or sum(weights) < 2 * replay.MAX_WINDOW_BYTES
        seen += fresh
        after = position(seen[-1])
    assert seen == list(made.entries)
