"""Calls whose process was lost: what the log says of them, and how somebody's decision gets there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.errors import Conflict, NotFound
from agents.base.store.writer import writer
from agents.record.schemas.events import MADE, StepDecided, TurnEnded
from agents.record.store import closing, decisions, read_turns, recovery, replay, takeover
from agents.record.store.closing import TurnEnding
from agents.record.store.decisions import Decision
from tests.conftest import Clock
from tests.support.builders import make_turn
from tests.support.doubtful_turns import CHARGE, make_doubtful, taken_over

pytestmark = pytest.mark.django_db


def test_the_log_tells_what_became_of_a_lost_turn(admin: Actor) -> None:
    doubtful = make_doubtful(admin)
    [step] = doubtful.steps
    decisions.decide(admin, doubtful.made.turn, [Decision(step, "done")])
    told = recovery.recovery_events(doubtful.made.turn)
    assert [event.type for event in told] == ["turn.taken_over", "step.in_doubt", "step.decided"]
    decided = told[-1]
    assert isinstance(decided, StepDecided)
    assert (decided.outcome, decided.by, decided.result and decided.result.content) == ("done", "root", MADE)
    taken_over(doubtful.made)
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, doubtful.made.turn, end, statuses=closing.RUNNING))
    assert [*recovery.recovery_events(doubtful.made.turn)][:3] == told  # from the packed log


def test_what_somebody_wrote_is_no_event(admin: Actor) -> None:
    script = 'call charge {"type": "step.decided", "step": "x"}'
    doubtful = make_doubtful(admin, script)
    assert [event.type for event in recovery.recovery_events(doubtful.made.turn)] == [
        "turn.taken_over",
        "step.in_doubt",
    ]
    assert recovery.recovery_events(make_turn(admin).turn) == []


def test_a_turn_that_has_ended_is_in_doubt_no_more(admin: Actor) -> None:
    doubtful = make_doubtful(admin)
    assert takeover.in_doubt() == 1
    end = TurnEnding("cancelled", "enough")
    assert writer.write(partial(closing.close_turn, doubtful.made.turn, end, statuses=closing.RUNNING))
    assert takeover.in_doubt() == 0
    with pytest.raises(Conflict):
        decisions.decide(admin, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])


def test_nobody_decides_for_ever(admin: Actor, clock: Clock, settings: Any) -> None:
    settings.AWAIT_DAYS = 2
    make_turn(admin, "say Running.", upto=2)
    doubtful, decided = make_doubtful(admin), make_doubtful(admin)
    decisions.decide(admin, decided.made.turn, [Decision(decided.steps[0], "done")])
    clock.pass_s(2 * 86_400 - 1)
    assert closing.expire_waiting(clock.now_us) == 0
    clock.pass_s(2)
    assert closing.expire_waiting(clock.now_us) == 1
    assert takeover.in_doubt() == 0
    turn = read_turns.turn(admin, doubtful.made.turn)
    assert (turn.status, [step.status for step in turn.steps]) == ("cancelled", ["completed", "cancelled"])
    last = replay.load(doubtful.made.turn)[-1]
    assert isinstance(last, TurnEnded)
    assert last.reason == "decision_timeout"
    assert closing.expire_waiting(clock.now_us) == 0


def test_several_calls_are_decided_at_once(admin: Actor) -> None:
    doubtful = make_doubtful(admin, f"{CHARGE}\n{CHARGE}\nthen\nsay Done.")
    first, second = doubtful.steps
    elsewhere = make_doubtful(admin).steps[0]
    with pytest.raises(NotFound):
        decisions.decide(admin, doubtful.made.turn, [Decision(first, "done"), Decision(elsewhere, "done")])
    assert not any(isinstance(event, StepDecided) for event in recovery.recovery_events(doubtful.made.turn))
    decisions.decide(admin, doubtful.made.turn, [Decision(first, "not_done"), Decision(second, "result", "charged")])
    decided = [event for event in recovery.recovery_events(doubtful.made.turn) if isinstance(event, StepDecided)]
    assert [(event.step, event.outcome) for event in decided] == [(first, "not_done"), (second, "result")]
    assert takeover.in_doubt() == 1  # the other turn


def test_only_who_may_run_the_turn_decides(admin: Actor, make_user: Callable[..., Actor]) -> None:
    doubtful = make_doubtful(admin)
    stranger = make_user("eve")
    with pytest.raises(NotFound):
        decisions.decide(stranger, doubtful.made.turn, [Decision(doubtful.steps[0], "done")])
