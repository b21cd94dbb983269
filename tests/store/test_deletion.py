"""What is left when turns go: sums that are those of the rest, and numbers nobody else has."""

from __future__ import annotations

import pytest

from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.models.journal import Price
from agents.record.models.agents import Session
from agents.record.models.turns import Turn
from agents.record.store.deletion import delete_turns
from tests.builders import make_agent, make_session, make_turn

pytestmark = pytest.mark.django_db


def sums(session: int) -> tuple[int, int, int, int | None]:
    row = Session.objects.unscoped("test").get(pk=session)
    return row.turn_count, row.input_tokens, row.output_tokens, row.cost_nano


def test_a_session_sums_the_turns_it_still_has(admin: Actor) -> None:
    Price.objects.create(model="*", starts_at=to_datetime(0), input_nano=1000, output_nano=2000)
    agent = make_agent(admin)
    session = make_session(admin, agent)
    first = make_turn(admin, "say One two three.", agent=agent, session=session)
    after_one = sums(session)
    second = make_turn(admin, "say Four.", agent=agent, session=session)
    third = make_turn(admin, "say Five.", agent=agent, session=session)
    writer.write(lambda: delete_turns([second.turn, third.turn]))
    assert sums(session) == after_one
    assert Session.objects.unscoped("test").get(pk=session).last_turn == first.turn
    fourth = make_turn(admin, "say Six.", agent=agent, session=session)
    numbers = Turn.objects.unscoped("test").filter(session_id=session).order_by("number")
    assert list(numbers.values_list("pk", flat=True)) == [first.turn, fourth.turn]
    writer.write(lambda: delete_turns([first.turn, fourth.turn]))
    assert sums(session) == (0, 0, 0, None)
