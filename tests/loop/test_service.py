"""A request that was read before somebody else's was carried out: late, not wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.base.store import keys
from agents.loop.schemas.turns import ResumeTurn
from agents.loop.service import Service
from agents.record.schemas.content import ToolDef, ToolResponse
from agents.record.store import turns
from tests.support.builders import Recorded, make_turn
from tests.support.inprocess import inline_service, open_database


@pytest.fixture
def service(django_db_setup: None, django_db_blocker: Any) -> Iterator[Service]:
    with open_database(django_db_blocker), inline_service() as made:
        yield made


def resume(service: Service, actor: Actor, made: Recorded, place: turns.TurnTarget, *call_ids: str) -> None:
    answers = [ToolResponse(call_id=call_id, tool_name="ask", content="yes") for call_id in call_ids]
    body = ResumeTurn(tool_responses=answers)
    service.resume_turn(actor, place, made.agent.config, body)


def waiting(actor: Actor) -> tuple[Recorded, turns.TurnTarget, str]:
    """A turn that waits, as it was read, and the call it waits for."""
    made = make_turn(actor, "call ask {}\nthen\nsay Thanks.", client_tools=[ToolDef(name="ask")])
    [pending] = turns.pending_calls(made.turn)
    return (
        made,
        turns.target(actor, made.turn, action="run"),
        pending.call.decode().split('"call_id":"')[1].split('"')[0],
    )


def test_an_answer_read_before_another_was_taken_comes_too_late(service: Service) -> None:
    actor = keys.local()
    made, place, call_id = waiting(actor)
    resume(service, actor, made, place, call_id)
    with pytest.raises(Conflict):
        resume(service, actor, made, place, call_id)


def test_a_wrong_answer_to_a_turn_that_still_waits_is_wrong(service: Service) -> None:
    actor = keys.local()
    made, place, _ = waiting(actor)
    with pytest.raises(InvalidRequest, match="no call 'else' is pending"):
        resume(service, actor, made, place, "else")
