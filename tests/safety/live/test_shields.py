"""Shields of every kind, over HTTP, with the official client: in turns, run alone, registered."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from llama_stack_client import (
    BadRequestError,
    ConflictError,
    InternalServerError,
    LlamaStackClient,
    NotFoundError,
)
from llama_stack_client.lib.agents.agent import Agent
from llama_stack_client.lib.agents.event_logger import EventLogger as AgentEventLogger
from llama_stack_client.types.shared_params.completion_message import CompletionMessage

from tests.support.live.caller import Caller, Talk, script, user
from tests.support.live.library import chunks_of, opened_client, turn_of
from tests.support.live.process import ServerProcess
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

CANNED = "I can't answer that. Can I help with something else?"


@pytest.fixture
def client(guarded: ServerProcess) -> Iterator[LlamaStackClient]:
    with opened_client(guarded.base, max_retries=0) as client:
        yield client


@pytest.fixture
def caller(guarded: ServerProcess) -> Caller:
    return Caller(guarded.port)


def get_time(zone: str) -> str:
    """The time somewhere.

    :param zone: where
    """
    return f"noon in {zone}"


def make_agent(client: Any, **config: Any) -> Agent:
    agent = Agent(client, model="scripted/fast", instructions="Be brief.", **config)
    agent.create_session("a session")
    return agent


def say(agent: Agent, *lines: str) -> Any:
    text = script(*lines) if len(lines) > 1 else lines[0]
    return turn_of(agent, text, agent.sessions[-1])


def step_types(turn: Any) -> list[str]:
    return [step.step_type for step in turn.steps]


# --------------------------------------------------------------------------------------------- turns


def test_a_round_of_client_tools_has_seven_steps(client: LlamaStackClient) -> None:
    agent = make_agent(client, tools=[get_time], input_shields=["guard"], output_shields=["guard"])
    turn = say(agent, 'call get_time {"zone": "Paris"}', "then", "say It is noon.")

    shield, inference = "shield_call", "inference"
    assert step_types(turn) == [shield, inference, shield, "tool_execution", shield, inference, shield]
    assert turn.output_message.content == "It is noon."
    assert all(step.violation is None for step in turn.steps if step.step_type == shield)
    times = [moment for step in turn.steps for moment in (step.started_at, step.completed_at)]
    assert times == sorted(set(times))


def test_what_the_user_may_not_ask_is_not_inferred(client: LlamaStackClient, lab: ModelLab) -> None:
    agent = make_agent(client, input_shields=["polite", "guard", "moderated"])
    turn = say(agent, "say how to build a bomb, damn")

    [step] = turn.steps
    assert step.violation.violation_level == "error"
    assert step.violation.metadata["violation_type"] == "S9"
    assert step.violation.metadata["shield_id"] == "guard"
    assert turn.output_message.content == step.violation.user_message == CANNED
    assert turn.output_message.stop_reason == "end_of_turn"
    assert lab.sent("/moderations", "how to build a bomb")  # they were asked at the same time


def test_what_the_model_may_not_say_is_replaced(client: LlamaStackClient) -> None:
    agent = make_agent(client, output_shields=["polite"])
    turn = say(agent, "say the key is", "say sk-abcdef12 of course")

    assert step_types(turn) == ["inference", "shield_call"]
    assert turn.steps[1].violation.metadata["rule"] == "leak"
    assert turn.output_message.content == CANNED


def test_a_warning_is_kept_and_stops_nothing(client: LlamaStackClient) -> None:
    agent = make_agent(client, input_shields=["polite"], output_shields=["guard"])
    turn = say(agent, "say well, damn", "say Fine.")

    assert step_types(turn) == ["shield_call", "inference", "shield_call"]
    assert turn.steps[0].violation.violation_level == "warn"
    assert turn.steps[0].violation.user_message == "Mind your words."
    assert turn.output_message.content == "well, damn\nFine."


def test_a_shield_without_a_verdict_fails_the_turn(caller: Caller) -> None:
    talk = Talk(caller, input_shields=["mute", "polite"])
    answer = talk.say("say Hello")

    assert answer.status >= 500
    assert "no verdict" in answer.json["error"]["message"]
    [turn] = talk.turns()
    assert (turn["status"], [step["step_type"] for step in turn["steps"]]) == ("failed", ["shield_call"])


def test_the_library_prints_a_violation(client: LlamaStackClient) -> None:
    agent = make_agent(client, input_shields=["guard"])
    events = chunks_of(agent, "a bomb", agent.sessions[-1])
    told = "".join(str(event) for event in AgentEventLogger().log(events))

    assert "shield_call> " in told
    assert "S9" in told
    assert CANNED in told


# ----------------------------------------------------------------------------------------- run alone


def test_a_shield_runs_alone(client: LlamaStackClient) -> None:
    asked = user("Where do I find her address?")
    violation = client.safety.run_shield(shield_id="guard", messages=[asked], params={}).violation
    assert violation is not None
    assert violation.metadata["violation_type"] == "S7"

    excluded: dict[str, Any] = {"excluded_categories": ["S7"]}
    assert client.safety.run_shield(shield_id="guard", messages=[asked], params=excluded).violation is None
    with pytest.raises(BadRequestError, match=r"params\.excluded"):
        client.safety.run_shield(shield_id="guard", messages=[asked], params={"excluded": ["S7"]})

    answered: CompletionMessage = {"role": "assistant", "content": "That is private.", "stop_reason": "end_of_turn"}
    assert client.safety.run_shield(shield_id="guard", messages=[asked, answered], params={}).violation is None


def test_a_shield_that_cannot_judge_says_so(client: LlamaStackClient) -> None:
    with pytest.raises(InternalServerError, match="no verdict"):
        client.safety.run_shield(shield_id="mute", messages=[user("Hello")], params={})
    with pytest.raises(BadRequestError, match="Shield 'none' not found"):
        client.safety.run_shield(shield_id="none", messages=[user("Hello")], params={})


# ---------------------------------------------------------------------------------------- registered


def test_a_shield_is_registered_used_and_forgotten(client: LlamaStackClient, caller: Caller) -> None:
    name = f"shields/{uuid.uuid4()}"
    params: dict[str, Any] = {"rules": [{"keywords": ["tulip"], "message": "No flowers."}]}
    made = client.shields.register(shield_id=name, provider_id="rules", params=params)

    assert (made.identifier, made.provider_id, made.params) == (name, "rules", params)
    assert client.shields.retrieve(name) == made
    assert made in client.shields.list()
    assert say(make_agent(client, input_shields=[name]), "say a tulip").output_message.content == "No flowers."

    assert client.shields.register(shield_id=name, provider_id="rules", params=params) == made
    with pytest.raises(ConflictError, match="registered already"):
        client.shields.register(shield_id=name, provider_id="scripted", params={})

    assert caller.delete(f"/v1/shields/{name}").status == 204
    assert caller.delete(f"/v1/shields/{name}").status == 404
    with pytest.raises(NotFoundError):
        client.shields.retrieve(name)


def test_a_model_alone_makes_a_llama_guard(client: LlamaStackClient, caller: Caller) -> None:
    made = client.shields.register(shield_id="lab/guard-3")
    assert (made.provider_id, made.provider_resource_id) == ("llama-guard", "lab/guard-3")
    assert client.safety.run_shield(shield_id="lab/guard-3", messages=[user("a bomb")], params={}).violation
    assert caller.delete("/v1/shields/lab/guard-3").status == 204


def test_the_shields_of_the_settings_stay(caller: Caller) -> None:
    listed = [shield["identifier"] for shield in caller.get("/v1/shields").json["data"]]
    assert listed[:5] == ["guard", "moderated", "mute", "polite", "demo_guard"]
    for answer in (
        caller.delete("/v1/shields/guard"),
        caller.post("/v1/shields", {"shield_id": "guard", "provider_id": "scripted"}),
    ):
        assert (answer.status, answer.json["error"]["param"]) == (400, "shield_id")


# ---------------------------------------------------------------------------------------- moderation


@pytest.mark.parametrize("path", ["/v1/moderations", "/v1/openai/v1/moderations"])
def test_texts_are_moderated(caller: Caller, path: str) -> None:
    answer = caller.post(path, {"input": ["a bomb", "bread"], "model": "moderated"}).json
    assert answer["model"] == "moderated"
    first, second = answer["results"]
    assert (first["flagged"], first["categories"]) == (True, {"violence": True})
    assert first["category_scores"] == {"violence": 0.9}
    assert (second["flagged"], second["categories"]) == (False, {})


def test_a_shield_is_named_by_its_model_too(caller: Caller) -> None:
    """Clients of Llama Stack name it as its provider does."""
    answer = caller.post("/v1/moderations", {"input": "a bomb", "model": "lab/omni"}).json
    assert (answer["model"], answer["results"][0]["categories"]) == ("lab/omni", {"violence": True})


def test_what_only_warns_is_not_flagged(caller: Caller) -> None:
    [result] = caller.post("/v1/moderations", {"input": "damn", "model": "polite"}).json["results"]
    assert (result["flagged"], result["categories"], result["user_message"]) == (
        False,
        {"swearing": False},
        "Mind your words.",
    )


def test_moderation_needs_a_shield(caller: Caller) -> None:
    for model, words in ((None, "name a shield"), ("none", "not found")):
        answer = caller.post("/v1/moderations", {"input": "x", "model": model})
        assert (answer.status, answer.json["error"]["param"]) == (400, "model")
        assert words in answer.json["error"]["message"]
