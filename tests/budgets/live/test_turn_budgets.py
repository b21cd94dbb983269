"""What a request allows its turn to spend: the turn, its responses, and its sub-agents together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI

from tests.support.live.caller import Caller, Talk, answer_to, script, tool, user

pytestmark = pytest.mark.server

LOOKUP = tool("lookup", "key")
WEATHER = script('call get_weather {"city": "Bern"}', "then", "say Sunny.")
MUCH = 1_000_000


def say(talk: Talk, text: str, **limits: float) -> Any:
    return talk.caller.post(f"{talk.path}/turn", {"messages": [user(text)], "budget": limits})


def is_reached(answer: Any) -> None:
    assert (answer.status, answer.json["error"]["code"]) == (429, "budget_reached")
    assert "The budget of this turn is reached: " in answer.json["error"]["message"]


def tokens_of(caller: Caller, query: str) -> int:
    rows = caller.get(f"/v1/logs/turns?q={query}").json["data"]
    return sum(row["usage"]["input_tokens"] + row["usage"]["output_tokens"] for row in rows)


def test_the_turn_ends_before_the_inference_that_is_one_too_many(caller: Caller) -> None:
    talk = Talk(caller, toolgroups=["builtin::demo"])
    is_reached(say(talk, WEATHER, tokens=1))
    [turn] = talk.turns()
    assert [step["step_type"] for step in turn["steps"]] == ["inference", "tool_execution"]
    assert say(talk, "Hello", tokens=1).status == 200  # each turn by itself
    assert say(talk, WEATHER, tokens=MUCH).status == 200
    assert talk.say(WEATHER).status == 200


def test_it_holds_for_what_follows_the_answers_of_the_client(caller: Caller) -> None:
    talk = Talk(caller, client_tools=[LOOKUP])
    waiting = say(talk, script('call lookup {"key": "a"}', "then", "say Done."), tokens=1).json
    is_reached(talk.answer(waiting["turn_id"], answer_to(waiting["output_message"]["tool_calls"][0], "42")))


@pytest.mark.parametrize("store", [True, False])
def test_a_response_fails_in_openais_words(openai_client: OpenAI, caller: Caller, store: bool) -> None:
    agent = Talk(caller, toolgroups=["builtin::demo"]).agent

    def last_of(tokens: int) -> Any:
        more = {"budget": {"tokens": tokens}}
        model = f"agent/{agent}"
        return list(
            openai_client.responses.create(model=model, input=WEATHER, stream=True, store=store, extra_body=more)
        )[-1]

    failed = last_of(1)
    assert (failed.type, failed.response.error.code) == ("response.failed", "insufficient_quota")
    assert failed.response.budget == {"tokens": 1}
    assert last_of(MUCH).type == "response.completed"


def test_sub_agents_spend_of_it_too(caller: Caller) -> None:
    helper = Talk(caller, name="helper", toolgroups=["builtin::demo"])
    talk = Talk(caller, toolgroups=[{"name": "builtin::agents", "args": {"agents": [helper.agent]}}])
    lines = script(f"call helper {json.dumps({'input': WEATHER})}", "then", "say Done.")

    assert say(talk, lines, tokens=MUCH).status == 200
    [turn] = talk.turns()
    own, below = tokens_of(caller, f"session:{talk.session}"), tokens_of(caller, f"caller:{turn['turn_id']}")
    is_reached(say(talk, lines, tokens=(own + below) // 2))

    is_reached(say(talk, lines, tokens=1))
    stopped = talk.turns()[-1]
    [answer] = stopped["steps"][1]["tool_responses"]
    assert "The budget of this turn is reached" in answer["content"]
    assert caller.get(f"/v1/logs/turns?q=caller:{stopped['turn_id']}").json["data"] == []


def test_dollars_need_a_price(caller: Caller) -> None:
    refused = say(Talk(caller), "Hello", usd=1)
    assert (refused.status, refused.json["error"]["code"]) == (400, "model_not_budgetable")


@pytest.mark.parametrize(
    "budget", [{}, {"tokens": 0}, {"tokens": -1}, {"usd": 0}, {"usd": -1}, {"usd": "1e400"}, {"usd": "NaN"}, 5]
)
def test_a_limit_that_is_none_is_refused(caller: Caller, budget: Any) -> None:
    talk = Talk(caller)
    answers = [
        caller.post(f"{talk.path}/turn", {"messages": [user("Hello")], "budget": budget}),
        caller.post("/v1/responses", {"model": "scripted/fast", "input": "Hello", "budget": budget}),
    ]
    for answer in answers:
        assert answer.status == 400
        assert "budget" in json.dumps(answer.json["error"])
    assert talk.turns() == []
