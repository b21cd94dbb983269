"""Turns of sub-agents as records: repeated by forks, seen by whoever sees the turn that called, gone with it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from agents.base import ids
from agents.forks.runner import fork
from agents.forks.runner.fork import ForkRequest
from agents.forks.schemas.forks import ForkTurn
from agents.logs.store import bulk
from agents.loop.schemas.turns import CreateTurn
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from agents.record.schemas.content import UserMessage
from agents.record.store import agents, removal, sessions
from agents.responses.store import responses
from tests.access.matrix import make_user
from tests.subagents.calling import Stage, call, calling, children
from tests.support.builders import make_agent, make_session
from tests.support.live.caller import script
from tests.support.pages.openai_requests import respond


def tree(stage: Stage) -> tuple[int, int, int]:
    """A turn, the turn it called, and the one that this called."""
    stage.agent("low")
    stage.agent("mid", "low")
    chief = stage.agent("Chief", "mid")
    top = stage.say(chief, call("mid", call("low", "say Low."), "then", "say Mid."), "then", "say Top.")
    [mid] = children(top)
    [low] = children(mid.turn_id)
    return top, mid.turn_id, low.turn_id


def left() -> set[int]:
    """The turns that there are; each with its session, and with whom it called."""
    assert set(Session.all_objects.values_list("pk", flat=True)) == set(
        Turn.all_objects.values_list("session_id", flat=True)
    )
    found = set(Turn.all_objects.values_list("pk", flat=True))
    assert set(AgentCall.all_objects.values_list("turn_id", flat=True)) <= found
    assert set(AgentCall.all_objects.values_list("parent_id", flat=True)) <= found
    return found


def session_of(turn: int) -> int:
    return int(Turn.all_objects.values_list("session_id", flat=True).get(pk=turn))


def test_a_fork_repeats_the_recorded_result_and_calls_nobody(stage: Stage) -> None:
    top, *_ = tree(stage)
    body = ForkTurn.model_validate({"step": 2, "tools": "recorded", "changes": {}})
    forked = fork.begin(stage.service, ForkRequest(stage.actor, top, body, raw=b"{}")).turn
    assert stage.result(forked) == "Mid."
    assert stage.answer(forked) == "Top."
    assert children(forked) == []
    assert AgentCall.all_objects.count() == 2


def test_a_fork_that_runs_its_tools_calls_for_itself(stage: Stage) -> None:
    top, *_ = tree(stage)
    body = ForkTurn.model_validate({"step": 1, "tools": "live", "changes": {}})
    forked = fork.begin(stage.service, ForkRequest(stage.actor, top, body, raw=b"{}")).turn
    assert stage.answer(forked) == "Top."
    [mid] = children(forked)
    assert AgentCall.all_objects.filter(root_id=forked).count() == 2
    assert stage.answer(mid.turn_id) == "Mid."


def test_with_a_session_goes_what_sub_agents_did_for_it(stage: Stage) -> None:
    top, *_ = tree(stage)
    sessions.delete(stage.actor, session_of(top))
    assert left() == set()


def test_with_a_turn_goes_what_sub_agents_did_for_it(stage: Stage) -> None:
    top, mid, _ = tree(stage)
    assert bulk.delete(stage.actor, "turn", [mid]).done == 1
    assert set(Turn.all_objects.values_list("pk", flat=True)) == {top}
    assert stage.result(top) == "Mid."
    assert bulk.delete(stage.actor, "turn", [top]).done == 1
    assert Turn.all_objects.count() == 0


def test_a_large_session_goes_with_what_sub_agents_did_for_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "ROWS_PER_JOB", 5)
    top, *_ = tree(stage)
    sessions.delete(stage.actor, session_of(top))
    assert left() == set()


def test_a_called_turn_can_go_alone(stage: Stage) -> None:
    top, mid, low = tree(stage)
    sessions.delete(stage.actor, session_of(low))
    assert left() == {top, mid}
    sessions.delete(stage.actor, session_of(top))
    assert left() == set()


def test_nothing_is_deleted_while_one_below_runs(stage: Stage) -> None:
    top, mid, low = tree(stage)
    Turn.all_objects.filter(pk=low).update(status=TurnStatus.IN_PROGRESS)
    with pytest.raises(Exception, match="in progress"):
        sessions.delete(stage.actor, session_of(top))
    assert left() == {top, mid, low}


def test_with_a_response_goes_what_sub_agents_did_for_it(stage: Stage) -> None:
    stage.agent("low")
    stage.agent("Chief", "low")
    said = script(call("low", "say Low."), "then", "say Top.")
    response, _ = respond(stage.actor, given=said, model="agent/Chief")
    assert AgentCall.all_objects.count() == 1
    responses.delete(stage.actor, response)
    assert left() == set()


def test_agents_that_were_retired_go_with_the_last_of_their_sessions(stage: Stage) -> None:
    top, *_ = tree(stage)
    low = agents.runnable_by_name(stage.actor, "low")[0]
    agents.retire(stage.actor, agents.key_of(low))
    sessions.delete(stage.actor, session_of(top))
    assert agents.runnable_by_name(stage.actor, "low") == []
    assert not Session.all_objects.exists()


def test_a_session_that_may_go_after_a_day_takes_its_children_along(stage: Stage) -> None:
    stage.agent("low")
    chief = stage.agent("Chief", "low")
    session = sessions.create(stage.actor, agent=chief.key, name="short", persist=False)
    top = stage.say(chief, call("low", "say Low."), "then", "say Top.", session=session)
    [low] = children(top)
    expires = set(Session.all_objects.values_list("expires_at", flat=True))
    assert len(expires) == 1
    assert expires != {None}
    assert sessions.expire(ids.now_us() + 2 * sessions.DAY_US) >= 1
    assert low.turn_id not in left()


def test_children_are_seen_by_whoever_sees_the_turn_that_called(stage: Stage) -> None:
    ana, ben, eve = (make_user(name, teams=[team]) for name, team in (("ana", "red"), ("ben", "red"), ("eve", "blue")))
    make_agent(ana, name="low")
    chief = make_agent(ana, name="Chief", toolgroups=calling("low"))
    said = CreateTurn(messages=[UserMessage(content=script(call("low", "say Low."), "then", "say Top."))])
    top = stage.service.start_turn(ana, chief, make_session(ana, chief), said).turn
    [low] = children(top)
    for actor, sees in ((ana, True), (ben, True), (eve, False)):
        assert Turn.objects.visible_to(actor).filter(pk=top).exists() is sees
        assert Turn.objects.visible_to(actor).filter(pk=low.turn_id).exists() is sees
        assert AgentCall.objects.visible_to(actor).exists() is sees


@pytest.mark.parametrize("keeps", [False, True])
def test_what_is_not_to_be_stored_calls_nobody(stage: Stage, keeps: bool) -> None:
    stage.agent("low")
    stage.agent("Chief", "low")
    actor = replace(stage.actor, keeps_unstored=keeps)
    said = script(call("low", "say Low."), "then", "say Top.")
    respond(actor, given=said, model="agent/Chief", store=False)
    assert AgentCall.all_objects.count() == 0
    assert Turn.all_objects.filter(agent__name="low").count() == 0


def test_the_turns_below_a_turn_are_listed_with_sums(stage: Stage) -> None:
    stage.agent("third")
    stage.agent("second", "third")
    first = stage.agent("first", "second")
    turn = stage.say(first, call("second", call("third", "say Three."), "then", "say Two."), "then", "say One.")
    public_id = ids.public(ids.Kind.TURN, turn)
    found = Client().get(f"/v1/logs/turns/{public_id}/called").json()
    assert [row["agent_name"] for row in found["data"]] == ["third", "second"]
    assert found["data"][1]["caller_id"] == public_id
    below = sum(row["usage"]["total_tokens"] for row in found["data"])
    assert (found["own"]["turns"], found["total"]["turns"]) == (1, 3)
    assert found["total"]["total_tokens"] == found["own"]["total_tokens"] + below > below
    assert Client().get("/v1/logs/turns/nope/called").status_code == 404
