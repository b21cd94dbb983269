"""What became of a turn after its process was lost, read again while its log grows, is packed and unpacked."""

from __future__ import annotations

import pytest

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.journal import Event
from agents.record.schemas.events import StepDecided, StepInDoubt, TurnTakenOver
from agents.record.store import decisions, replay
from agents.record.store.decisions import Decision
from agents.record.store.recovery import RecoveryEvent, recovery_events
from tests.support.builders import make_turn
from tests.support.doubtful_turns import make_doubtful

pytestmark = pytest.mark.django_db


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


def types(turn: int) -> list[type[RecoveryEvent]]:
    return [type(event) for event in recovery_events(turn)]


def test_a_log_that_grows_is_read_on(me: Actor) -> None:
    doubtful = make_doubtful(me)
    turn = doubtful.made.turn
    assert types(turn) == types(turn) == [TurnTakenOver, StepInDoubt]
    decisions.decide(me, turn, [Decision(doubtful.steps[0], "done")])
    assert types(turn) == [TurnTakenOver, StepInDoubt, StepDecided]
    count = Event.objects.filter(turn_id=turn).count()
    replay.pack(turn, [], [])
    assert types(turn) == [TurnTakenOver, StepInDoubt, StepDecided]
    assert replay.event_bodies(turn, count - 1) == []
    assert len(replay.event_bodies(turn, count - 2)) == 1
    replay.reopen(turn)
    assert types(turn) == [TurnTakenOver, StepInDoubt, StepDecided]
    assert len(replay.event_bodies(turn, count - 2)) == 1


def test_a_turn_that_kept_its_process_has_none(me: Actor) -> None:
    assert recovery_events(make_turn(me).turn) == []
