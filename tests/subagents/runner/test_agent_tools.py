"""Agents as tools: a call runs a turn of its own, and its answer is the result."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.loop import prepare
from agents.loop.schemas.turns import CreateTurn
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Session
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from agents.record.schemas.agents import AgentConfig, ToolGroupWithArgs
from agents.record.schemas.content import UserMessage
from agents.record.store import agents
from agents.subagents.runner.agent_tools import GROUP
from tests.access.matrix import make_user
from tests.subagents.calling import Stage, call, calling, children
from tests.support.builders import make_agent

CLIENT_TOOL = {"name": "ask", "parameters": []}


def test_a_call_runs_a_turn_in_a_session_of_its_own_and_answers(stage: Stage) -> None:
    helper = stage.agent("Order desk")
    chief = stage.agent("Chief", helper.public_id)
    turn = stage.say(chief, call("Order_desk", "say It is on its way."), "then", "say Told.")

    assert stage.answer(turn) == "Told."
    assert stage.result(turn) == "It is on its way."
    [child] = children(turn)
    row = Turn.all_objects.get(pk=child.turn_id)
    assert (row.agent_id, row.status, row.owner_id) == (helper.key, TurnStatus.COMPLETED, stage.actor.user_id)
    assert row.session_id != stage.turn(turn).session
    assert (child.depth, child.root_id) == (1, turn)
    [step] = [step.key for step in stage.turn(turn).steps if step.type == "tool_execution"]
    assert child.step_id == step


def test_an_agent_is_found_by_its_name_and_described(stage: Stage) -> None:
    stage.agent("Order desk", instructions="You know all orders.")
    chief = stage.agent("Chief", "Order desk", {"agent": "Order desk", "name": "ask_desk", "description": "Ask."})
    body = CreateTurn(messages=[UserMessage(content="hi")])
    run = prepare.build_run(stage.service.providers, stage.actor, turn=1, session=1, config=chief.config, body=body)
    assert [tool.name for tool in run.tools] == ["Order_desk", "ask_desk"]
    first, second = (tool.description or "" for tool in run.tools)
    assert "Order desk" in first
    assert "You know all orders." in first
    assert second == "Ask."


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ({}, "args.agents: Field required"),
        ({"agents": []}, "args.agents: List should have at least 1 item"),
        ({"agents": "helper"}, "args.agents: Input should be a valid list"),
        ({"agents": ["nobody"]}, "args.agents: Agent 'nobody' not found."),
        ({"agents": ["helper"], "max_depth": 0}, "args.max_depth: Input should be greater than or equal to 1"),
        ({"agents": ["helper"], "max_depth": 11}, "args.max_depth"),
        ({"agents": ["helper"], "max_turns": True}, "args.max_turns"),
        ({"agents": [{"agent": "helper", "name": "no good"}]}, "args.agents.0"),
        ({"agents": ["helper", "helper"]}, "there are two tools named 'helper'"),
        ({"agents": ["twin"]}, "args.agents: 2 agents are called 'twin'"),
    ],
)
def test_what_cannot_be_is_refused_when_the_agent_is_made(stage: Stage, args: Any, reason: str) -> None:
    for name in ("helper", "twin", "twin"):
        stage.agent(name)
    groups = [{"name": GROUP, "args": args}]
    config = AgentConfig.model_validate({"model": "scripted/fast", "instructions": "", "toolgroups": groups})
    with pytest.raises(InvalidRequest) as refused:
        prepare.check_config(stage.service.providers, stage.actor, config)
    assert refused.value.param == "toolgroups"
    assert reason in refused.value.message


def test_an_agent_that_the_caller_cannot_see_is_one_that_is_not_there(stage: Stage) -> None:
    hidden = make_agent(make_user("ana"), name="hidden")
    ben = make_user("ben")
    for name in ("hidden", hidden.public_id):
        given = {"model": "scripted/fast", "instructions": "", "toolgroups": calling(name)}
        config = AgentConfig.model_validate(given)
        with pytest.raises(InvalidRequest, match="not found") as refused:
            prepare.check_config(stage.service.providers, ben, config)
        assert refused.value.param == "toolgroups"


def test_an_agent_that_calls_itself_for_ever_is_capped_by_depth(stage: Stage) -> None:
    again = stage.agent("again")
    groups = [ToolGroupWithArgs(**group) for group in calling("again")]
    agents.revise(stage.actor, again.key, again.config.model_copy(update={"toolgroups": groups}))
    again = agents.get(stage.actor, again.key)
    lines: list[str] = ["say Enough."]
    for _ in range(6):
        lines = [call("again", *lines), "then", "say So."]
    top = stage.say(again, *lines)

    depths = list(AgentCall.all_objects.filter(root_id=top).order_by("depth").values_list("depth", flat=True))
    assert depths == [1, 2, 3]
    last = AgentCall.all_objects.get(root_id=top, depth=3).turn_id
    assert stage.steps(last) == [("again", "failed")]
    assert "may not call further ones here, 3 levels down" in stage.result(last)
    assert stage.answer(top) == "So."


def test_the_narrowest_depth_on_the_way_counts(stage: Stage) -> None:
    stage.agent("third")
    stage.agent("second", toolgroups=calling("third", max_depth=10))
    first = stage.agent("first", toolgroups=calling("second", max_depth=1))
    turn = stage.say(first, call("second", call("third", "say Three."), "then", "say Two."), "then", "say One.")
    [child] = children(turn)
    assert children(child.turn_id) == []
    assert "1 level down" in stage.result(child.turn_id)
    assert stage.answer(turn) == "One."


def test_a_turn_calls_so_many_agents_and_no_more(stage: Stage) -> None:
    stage.agent("helper")
    chief = stage.agent("Chief", toolgroups=calling("helper", max_turns=2))
    one = call("helper", "say Yes.")
    turn = stage.say(chief, one, "then", one, "then", one, "then", "say Done.")
    assert stage.steps(turn) == [("helper", "completed"), ("helper", "completed"), ("helper", "failed")]
    assert "may call sub-agents 2 times, and has" in stage.result(turn, 2)
    assert len(children(turn)) == 2


def test_a_tree_has_so_many_turns_and_no_more(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.record.store.agent_calls.MAX_TREE", 3)
    stage.agent("low")
    stage.agent("mid", "low")
    chief = stage.agent("Chief", "mid")
    low = call("low", "say Low.")
    turn = stage.say(chief, call("mid", low, "then", low, "then", low, "then", "say Mid."), "then", "say Top.")
    [mid] = children(turn)
    assert [status for _, status in stage.steps(mid.turn_id)] == ["completed", "completed", "failed"]
    assert "3 turns of sub-agents have been run for one turn" in stage.result(mid.turn_id, 2)


def test_a_call_without_a_task_fails_and_runs_nothing(stage: Stage) -> None:
    stage.agent("helper")
    chief = stage.agent("Chief", "helper")
    turn = stage.say(chief, 'call helper {"input": "  "}', "call helper {}", "then", "say Well.")
    assert stage.steps(turn) == [("helper", "failed")] * 2
    assert "input must be a text" in stage.result(turn)
    assert children(turn) == []


def test_a_child_that_fails_is_a_failed_call_and_the_turn_goes_on(stage: Stage) -> None:
    stage.agent("helper")
    chief = stage.agent("Chief", "helper")
    turn = stage.say(chief, call("helper", "fail 400 No such thing"), "then", "say Then without.")
    assert stage.steps(turn) == [("helper", "failed")]
    assert "helper failed: " in stage.result(turn)
    assert "No such thing" in stage.result(turn)
    assert stage.answer(turn) == "Then without."


def test_a_child_has_no_tools_of_a_client(stage: Stage) -> None:
    stage.agent("helper", client_tools=[CLIENT_TOOL])
    chief = stage.agent("Chief", "helper")
    turn = stage.say(chief, call("helper", "call ask {}", "then", "say Could not ask."), "then", "say Done.")
    [child] = children(turn)
    left_out = stage.turn(child.turn_id).steps[0]
    assert (left_out.name, b'"ask"' in bytes(left_out.detail or b"")) == ("tools left out", True)
    assert stage.steps(child.turn_id) == [("ask", "failed")]
    assert stage.result(turn) == "Could not ask."


def test_a_disabled_agent_is_a_failed_call(stage: Stage) -> None:
    helper = stage.agent("helper")
    chief = stage.agent("Chief", helper.public_id)
    agents.set_disabled(stage.actor, helper.key, disabled=True)
    turn = stage.say(chief, call("helper", "say Hi."), "then", "say Well.")
    assert "is disabled" in stage.result(turn)
    assert Session.all_objects.filter(agent_id=helper.key).count() == 0


def test_an_agent_that_cannot_go_on_is_an_answer_to_the_model(stage: Stage) -> None:
    desk = stage.agent("desk")
    chief = stage.agent("chief", {"agent": desk.public_id, "hand_over": True})
    agents.set_disabled(stage.actor, desk.key, disabled=True)
    turn = stage.say(chief, "call transfer_to_desk {}", "then", "say I do it myself.")
    assert stage.steps(turn) == [("transfer_to_desk", "failed")]
    assert "desk cannot go on" in stage.result(turn)
    assert stage.answer(turn) == "I do it myself."


def test_agents_that_hand_over_to_each_other_for_ever_are_capped_by_rounds(stage: Stage) -> None:
    ping, pong = stage.agent("ping"), stage.agent("pong", {"agent": "ping", "hand_over": True})
    groups = [ToolGroupWithArgs(**group) for group in calling({"agent": "pong", "hand_over": True})]
    agents.revise(stage.actor, ping.key, ping.config.model_copy(update={"toolgroups": groups, "max_infer_iters": 4}))
    lines = [line for name in ("pong", "ping", "pong", "ping") for line in (f"call transfer_to_{name} {{}}", "then")]
    turn = stage.say(agents.get(stage.actor, ping.key), *lines, "say Never.")
    assert [name for name, _ in stage.steps(turn)] == ["transfer_to_pong", "transfer_to_ping", "transfer_to_pong"]
    assert pong.key != ping.key
