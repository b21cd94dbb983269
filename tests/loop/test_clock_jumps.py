"""The machine's clock is set forward or back while turns run, wait and expire: nothing stands still for ever, ids
stay in order, and nothing took less than no time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.access import Actor
from agents.base.ids import SteadyClock
from agents.base.store import keys
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.service import Service
from agents.loop.takeover import take_over
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Step, Turn
from agents.record.schemas.content import ToolResponse, UserMessage
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store import closing, read_turns, turns
from tests.support.builders import make_agent, make_session
from tests.support.depth import deep
from tests.support.inprocess import inline_service, open_database

HOUR_US = 3_600_000_000
YEAR_US = 365 * 24 * HOUR_US
START_US = 1_795_176_000_000_000
IN_2039_US = 2_177_452_800_000_000
ASKED = 60
"""How often a turn that waits and is answered looks at the clock, about."""
JUMPS = {
    "an hour on": HOUR_US,
    "8 days on": 8 * 24 * HOUR_US,
    "to 2039": IN_2039_US - START_US,
    "an hour back": -HOUR_US,
    "2 years back": -2 * YEAR_US,
}


class Machine:
    """A clock of which each look takes a millisecond, and which is set when it was looked at so often."""

    def __init__(self, jump_us: int, at_look: int) -> None:
        self._jump_us, self._at, self.looks = jump_us, at_look, 0
        self._off = 0

    def elapsed_ns(self) -> int:
        return (self.looks * 1_000) * 1_000

    def wall_ns(self) -> int:
        self.looks += 1
        if self.looks == self._at:
            self.set()
        return START_US * 1_000 + self._off * 1_000 + self.elapsed_ns()

    def set(self) -> None:
        self._off = self._jump_us

    def restart(self) -> None:
        """A new process reads what the clock says now."""
        ids.use_clock(SteadyClock(self.wall_ns, self.elapsed_ns))


@pytest.fixture
def place(django_db_setup: None, django_db_blocker: Any) -> Iterator[tuple[Service, Actor]]:
    with open_database(django_db_blocker), inline_service() as service:
        yield service, keys.local()


def said(*lines: str) -> CreateTurn:
    return CreateTurn(messages=[UserMessage(content="\n".join(["!script", *lines]))])


def played(service: Service, actor: Actor, machine: Machine, restarts: bool) -> list[TurnSnapshot]:
    """A turn that waits, its expiry or its answer, and a new one behind it."""
    agent = make_agent(actor, toolgroups=["builtin::demo"], client_tools=[{"name": "ask"}])
    session = make_session(actor, agent)
    weather = 'call get_weather {"city": "Oslo"}'
    body = said("think Hm.", weather, "then", "call ask {}", "then", weather, "then", "say Thanks.")
    first = service.start_turn(actor, agent, session, body).turn
    if restarts:
        machine.set()
        machine.restart()
    take_over(service)
    closing.expire_waiting(ids.now_us())
    where = turns.target(actor, first, action="run")
    if where.status == TurnStatus.AWAITING_INPUT:
        [pending] = turns.pending_calls(first)
        answer = ToolResponse(call_id=json.loads(pending.call)["call_id"], tool_name="ask", content="yes")
        service.resume_turn(actor, where, agent.config, ResumeTurn(tool_responses=[answer]))
    else:
        assert where.status == TurnStatus.CANCELLED
    last = service.start_turn(actor, agent, session, said("say Here again.")).turn
    take_over(service)

    assert turns.target(actor, last).status == TurnStatus.COMPLETED
    assert turns.target(actor, first).status in (TurnStatus.COMPLETED, TurnStatus.CANCELLED)
    assert Session.objects.unscoped("test").get(pk=session).active_turn is None
    of_turns = Turn.objects.unscoped("test").filter(pk__in=(first, last)).values_list("duration_us", flat=True)
    of_steps = Step.objects.unscoped("test").filter(turn_id__in=(first, last)).values_list("duration_us", flat=True)
    assert all(took >= 0 for took in (*of_turns, *of_steps) if took is not None)
    return [read_turns.turn(actor, turn) for turn in (first, last)]


@pytest.mark.parametrize("name", JUMPS)
def test_the_clock_is_set_at_any_moment_of_a_turn(name: str, place: tuple[Service, Actor]) -> None:
    for at in range(2, ASKED - 10, deep(12, 1)):
        machine = Machine(JUMPS[name], at)
        machine.restart()
        found = played(*place, machine, restarts=False)
        made = [key for turn in found for key in (turn.key, *(step.key for step in turn.steps))]
        begun = [step.started_at for turn in found for step in turn.steps]
        assert (made, begun) == (sorted(made), sorted(begun))
        everything: list[TurnSnapshot | StepSnapshot] = [*found, *(step for turn in found for step in turn.steps)]
        for one in everything:
            assert one.completed_at is None or one.completed_at >= one.started_at
        assert machine.looks >= at


@pytest.mark.parametrize("name", JUMPS)
def test_it_is_set_while_the_server_is_down(name: str, place: tuple[Service, Actor]) -> None:
    machine = Machine(JUMPS[name], at_look=0)
    machine.restart()
    first, last = (ids.public(ids.Kind.TURN, turn.key) for turn in played(*place, machine, restarts=True))
    client = Client()
    for path in ("turns", "steps", "responses", f"turns/{first}/compare/{last}"):
        answer = client.get(f"/v1/logs/{path}")
        assert answer.status_code == 200, answer.content
        assert [took for took in durations(answer.json()) if took is not None and took < 0] == [], path
    page = client.get(f"/turns/{first}/")
    assert page.status_code == 200
    assert not re.search(r">\s*[-\u2212][\d.,]+\s*(µs|ms|s|min|h|d)\b", page.content.decode())


def durations(told: Any) -> Iterator[float | None]:
    """All that is told of how long something took."""
    if isinstance(told, dict):
        yield from (value for name, value in told.items() if name.endswith("_ms"))
    for value in told.values() if isinstance(told, dict) else told if isinstance(told, list) else ():
        yield from durations(value)
