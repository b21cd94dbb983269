"""Whoever races for a turn, in one process or two: resumes, cancels, the expiry, a new message, a deletion.

One of them has the turn, each is told the truth, a final status stays, and after a cancel that was
acknowledged no tool is run.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import AgentsError, Conflict, NotFound
from agents.base.store import changes, keys
from agents.llama_stack.turn_streams import ended_turn_answer
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.service import Service
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.journal import DeltaBatch, Event, EventPack
from agents.record.models.turns import Step, Turn
from agents.record.schemas.content import ToolCall, ToolDef, ToolResponse, UserMessage
from agents.record.schemas.events import Delta
from agents.record.schemas.turns import fold
from agents.record.store import closing, read_turns, replay, sessions, turns
from tests.loop.racing import GROUP, Course, Outcome, course
from tests.support.builders import Recorded, make_agent, make_turn
from tests.support.depth import deep
from tests.support.inprocess import open_database

SCRIPT = "call ask {}\nthen\ncall note {}\nthen\ncall note {}\nthen\nsay Done."
FINAL = {TurnStatus.FAILED, TurnStatus.CANCELLED, TurnStatus.INTERRUPTED}
GOING = {TurnStatus.QUEUED, TurnStatus.IN_PROGRESS}
MAY_FOLLOW = {
    TurnStatus.AWAITING_INPUT: {TurnStatus.IN_PROGRESS, TurnStatus.CANCELLED},
    TurnStatus.IN_PROGRESS: {TurnStatus.COMPLETED, TurnStatus.CANCELLED},
    TurnStatus.COMPLETED: set(),
    TurnStatus.CANCELLED: set(),
}
"""Which statuses may follow each other in these races."""


@pytest.fixture
def place(
    django_db_setup: None, django_db_blocker: Any, caplog: pytest.LogCaptureFixture
) -> Iterator[tuple[Course, Actor]]:
    caplog.set_level(logging.ERROR)
    with open_database(django_db_blocker), course() as made:
        yield made, keys.local()
    assert [record.getMessage() for record in caplog.records] == []


class Race:
    """A turn that waits, and what may be done to it."""

    def __init__(self, course: Course, actor: Actor) -> None:
        self.course, self.actor = course, actor
        agent = make_agent(actor, toolgroups=[GROUP], client_tools=[{"name": "ask"}])
        self.made: Recorded = make_turn(actor, SCRIPT, agent=agent, client_tools=[ToolDef(name="ask")])
        self.turn = self.made.turn
        [pending] = turns.pending_calls(self.turn)
        self.call = ToolCall.model_validate_json(pending.call)
        self.statuses: list[TurnStatus] = [TurnStatus.AWAITING_INPUT]

    # ----------------------------------------------------------------------------------- operations

    def resume(self, service: Service) -> None:
        answer = ToolResponse(call_id=self.call.call_id, tool_name="ask", content="yes")
        body = ResumeTurn(tool_responses=[answer])
        where = turns.target(self.actor, self.turn, action="run")
        service.resume_turn(self.actor, where, self.made.agent.config, body)

    def cancel(self, service: Service) -> TurnStatus:
        """The status that is acknowledged."""
        stopped = service.cancel_turn(self.actor, self.turn)
        self.course.on_loop(ended_turn_answer(self.actor, stopped))
        return turns.target(self.actor, self.turn).status

    def expire(self, service: Service) -> None:
        closing.expire_waiting(ids.now_us() + 30 * 86_400_000_000)

    def say(self, service: Service) -> int:
        body = CreateTurn(messages=[UserMessage(content="!script say Next.")])
        return service.start_turn(self.actor, self.made.agent, self.made.session, body).turn

    def delete(self, service: Service) -> None:
        sessions.delete(self.actor, self.made.session)

    # --------------------------------------------------------------------------------------- truth

    def watch(self, changed: changes.ChangeBatch) -> None:
        """After each commit, in the writing thread: the status it left the turn in."""
        row = Turn.objects.unscoped("test").filter(pk=self.turn).values_list("status", flat=True).first()
        if row is not None and row != self.statuses[-1]:
            self.statuses.append(TurnStatus(row))

    @property
    def tool_starts(self) -> list[int]:
        return self.course.started.get(self.made.public_id, [])

    def check(self, outcomes: dict[str, Outcome]) -> None:
        for before, after in itertools.pairwise(self.statuses):
            assert after in MAY_FOLLOW[before], self.statuses
        for outcome in outcomes.values():
            assert outcome.error is None or isinstance(outcome.error, Conflict | NotFound | AgentsError), outcome
            assert not isinstance(outcome.error, AgentsError) or outcome.error.status < 500, outcome
        assert len([one for one in self._done(outcomes, "resume")]) <= 1
        self._check_stops(outcomes)
        if self._done(outcomes, "delete"):
            self._check_gone()
        else:
            self._check_there(outcomes)

    @staticmethod
    def _done(outcomes: dict[str, Outcome], name: str) -> list[Outcome]:
        return [one for one in outcomes.values() if one.name.startswith(name) and one.error is None]

    def _check_stops(self, outcomes: dict[str, Outcome]) -> None:
        """Who was told that the turn is over saw its end: no tool is run later."""
        for stop in [*self._done(outcomes, "cancel"), *self._done(outcomes, "delete")]:
            assert stop.value is None or stop.value not in GOING, stop
            assert all(start <= stop.at_ns for start in self.tool_starts), stop
        for stop in self._done(outcomes, "cancel"):
            assert stop.value in {self.statuses[-1], TurnStatus.COMPLETED}, (stop, self.statuses)

    def _check_gone(self) -> None:
        assert not Session.objects.unscoped("test").filter(pk=self.made.session).exists()
        for model in (Turn, Step):
            name = "pk" if model is Turn else "turn_id"
            assert not model.objects.unscoped("test").filter(**{name: self.turn}).exists()
        for journal in (Event, DeltaBatch, EventPack):
            assert not journal.objects.filter(turn_id=self.turn).exists()

    def _check_there(self, outcomes: dict[str, Outcome]) -> None:
        status = turns.target(self.actor, self.turn).status
        assert status == self.statuses[-1]
        assert status not in GOING
        session = Session.objects.unscoped("test").get(pk=self.made.session)
        assert session.active_turn is None
        value = read_turns.turn(self.actor, self.turn)
        events = [entry for entry in replay.load(self.turn) if not isinstance(entry, Delta)]
        assert fold(self.turn, self.made.session, events) == value
        noted = [step for step in value.steps if step.name == "note"]
        assert len(self.tool_starts) <= len(noted)
        if self._done(outcomes, "resume"):
            [asked] = [step for step in value.steps if step.name == "ask"]
            assert b'"content":"yes"' in (asked.detail or b"")
        if status == TurnStatus.COMPLETED:
            assert len(noted) == 2
        for said in self._done(outcomes, "say"):
            assert turns.target(self.actor, said.value).status == TurnStatus.COMPLETED


def race(place: tuple[Course, Actor], seed: int) -> None:
    """One turn, and two to five who want something of it."""
    course, actor = place
    choose = random.Random(seed)
    it = Race(course, actor)
    services = course.services if seed % 2 else course.services[:1]
    kinds: list[Callable[[Service], Any]] = [it.resume, it.cancel, it.expire, it.say, it.delete]
    chosen = [it.resume, *choose.choices(kinds, weights=[3, 4, 1, 1, 1], k=choose.randint(1, 4))]
    operations: dict[str, Callable[[], Any]] = {
        f"{kind.__name__} {number}": partial(kind, choose.choice(services)) for number, kind in enumerate(chosen)
    }
    deaf = changes.listen(it.watch)
    try:
        outcomes = course.race(operations, seed)
    finally:
        deaf()
    it.check(outcomes)


QUICK, LOT = 160, 40


@pytest.mark.parametrize("start", range(0, QUICK, LOT))
def test_whoever_races_for_a_turn(place: tuple[Course, Actor], start: int) -> None:
    for seed in range(start, start + LOT):
        race(place, seed)


@pytest.mark.corpus
@pytest.mark.parametrize("start", range(QUICK, QUICK + deep(800, 12_000), LOT))
def test_many_who_race_for_a_turn(place: tuple[Course, Actor], start: int) -> None:
    for seed in range(start, start + LOT):
        race(place, seed)
