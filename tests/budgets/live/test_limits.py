"""Budgets of a running server: what they stop, in each dialect's words, and what goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI, RateLimitError

from tests.support.live.caller import Caller, Talk, answer_to, script, tool, user
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, running
from tests.support.model_lab import USAGE, ModelLab

pytestmark = pytest.mark.server

PATH = "/v1/budgets"
LOOKUP = tool("lookup", "key")
CALL = 'call lookup {"key": "a"}'
WEATHER = script('call get_weather {"city": "Bern"}', "then", "say Sunny.")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, data: Path, held: HeldModel, lab: ModelLab
) -> Iterator[ServerProcess]:
    """One server: of several, the others take notice of the first budget of a kind within a second (`test_two_servers`
    waits for them)."""
    endpoints = {"held": {"base_url": held.url}, "lab": {"base_url": lab.url}}
    environment = {"MODEL_ENDPOINTS": json.dumps(endpoints), "DEFAULT_ENDPOINT": "scripted"}
    with running(tmp_path_factory.mktemp("one"), environment, data=data) as process:
        prices = process.folder / "prices.json"
        prices.write_text(json.dumps([{"model": "told", "input": 1000, "cached": 100, "output": 0}]))
        process.manage("prices", str(prices))
        yield process


@pytest.fixture
def talk(caller: Caller) -> Talk:
    return Talk(caller, client_tools=[LOOKUP])


@pytest.fixture
def made(caller: Caller) -> Iterator[Any]:
    """Makes budgets, which are gone after the test: the others share the server."""
    ids: list[str] = []

    def make(**fields: Any) -> Any:
        answer = caller.post(PATH, fields)
        assert answer.status == 200, answer.body
        ids.append(answer.json["id"])
        return answer.json

    yield make
    for one in ids:
        caller.delete(f"{PATH}/{one}")


def spent(caller: Caller, budget: Any) -> int:
    return int(caller.get(f"{PATH}/{budget['id']}").json["spent_tokens"])


def refused(answer: Any) -> None:
    """It was refused before anything was stored, in the word that OpenAI's clients know."""
    error = answer.json["error"]
    assert (answer.status, error["code"], error["type"]) == (429, "insufficient_quota", "insufficient_quota")
    assert answer.headers["x-should-retry"] == "false"


def test_a_session_stops_at_its_budget_and_goes_on_with_more(talk: Talk, caller: Caller, made: Any) -> None:
    budget = made(session_id=talk.session, tokens=1, name="little")
    assert talk.say("Hello").status == 200  # it begins within its budget
    assert spent(caller, budget) > 1
    stopped = talk.say("Again")
    refused(stopped)
    assert "The budget 'little' of this session is reached" in stopped.json["error"]["message"]
    assert len(talk.turns()) == 1
    assert talk.aside().say("Elsewhere").status == 200
    raised = caller.post(f"{PATH}/{budget['id']}", {"tokens": 1_000_000}).json
    assert (raised["tokens"], raised["is_reached"]) == (1_000_000, False)
    assert talk.say("Again").status == 200


def test_a_turn_stops_before_its_next_inference(caller: Caller, made: Any) -> None:
    talk = Talk(caller, toolgroups=[])
    made(agent_id=talk.agent, period="turn", tokens=1)
    looping = Talk(caller, client_tools=[LOOKUP])
    made(agent_id=looping.agent, period="turn", tokens=1)
    assert talk.say("Hello").status == 200
    assert talk.say("Hello").status == 200  # each turn by itself
    waiting = looping.say(script(CALL)).json
    answered = looping.answer(waiting["turn_id"], answer_to(waiting["output_message"]["tool_calls"][0], "42"))
    refused(answered)
    assert looping.turn(waiting["turn_id"])["completed_at"] is None  # it waits: a larger budget lets it go on


def test_a_turn_that_goes_on_by_itself_ends_as_reached(caller: Caller, made: Any) -> None:
    """The first inference is over the budget; its call is made, and there is no second one."""
    talk = Talk(caller, toolgroups=["builtin::demo"])
    made(agent_id=talk.agent, tokens=1, name="tiny")
    failed = talk.say(WEATHER)
    error = failed.json["error"]
    assert (failed.status, error["code"]) == (429, "budget_reached")
    assert "The budget 'tiny' of this agent is reached" in error["message"]
    [turn] = talk.turns()
    assert [step["step_type"] for step in turn["steps"]] == ["inference", "tool_execution"]
    found = caller.get(f"/v1/logs/turns?q=error:budget_reached agent:{talk.agent}".replace(" ", "%20")).json["data"]
    assert [one["status"] for one in found] == ["failed"]


def test_a_response_that_goes_on_by_itself_ends_as_reached(openai_client: OpenAI, caller: Caller, made: Any) -> None:
    talk = Talk(caller, toolgroups=["builtin::demo"], name="spends")
    made(agent_id=talk.agent, period="turn", tokens=1)
    events = list(openai_client.responses.create(model=f"agent/{talk.agent}", input=WEATHER, stream=True))
    last: Any = events[-1]
    assert (last.type, last.response.error.code) == ("response.failed", "insufficient_quota")


def test_an_inference_that_has_begun_is_not_stopped(caller: Caller, made: Any, held: HeldModel) -> None:
    talk = Talk(caller, model="held/held")
    budget = made(agent_id=talk.agent, tokens=1_000_000)
    question = held.hold()
    turn = talk.begin(question.question)
    caller.post(f"{PATH}/{budget['id']}", {"tokens": 1})
    question.end("Done.")
    assert talk.frames(turn)[-1].type == "turn_complete"


def test_responses_of_all_kinds_stop(openai_client: OpenAI, caller: Caller, made: Any) -> None:
    conversation = openai_client.conversations.create()
    budget = made(session_id=conversation.id, tokens=1)
    openai_client.responses.create(model="scripted/fast", input="Hello", conversation=conversation.id)
    with pytest.raises(RateLimitError) as stopped:
        openai_client.responses.create(model="scripted/fast", input="Hello", conversation=conversation.id)
    assert stopped.value.code == "insufficient_quota"
    assert spent(caller, budget) > 1


@pytest.mark.parametrize("store", [True, False])
def test_whatever_the_server_asks_is_counted_for_its_user(
    openai_client: OpenAI, caller: Caller, made: Any, store: bool
) -> None:
    budget = made(user="local", tokens=1_000_000_000)
    seen = 0

    def grows() -> None:
        nonlocal seen
        now = spent(caller, budget)
        assert now > seen
        seen = now

    model: Any = "scripted/fast"
    hello: Any = [user("Hello")]
    openai_client.responses.create(model=model, input="Hello", store=store)
    grows()
    list(openai_client.responses.create(model=model, input="Hello", store=store, stream=True))
    grows()
    openai_client.chat.completions.create(model=model, messages=hello, store=store)
    grows()
    list(openai_client.chat.completions.create(model=model, messages=hello, store=store, stream=True))
    grows()
    openai_client.completions.create(model=model, prompt="Hello")
    grows()
    list(openai_client.completions.create(model=model, prompt="Hello", stream=True))
    grows()
    caller.post("/v1/inference/chat-completion", {"model_id": model, "messages": [user("Hello")]})
    grows()
    caller.post("/v1/inference/completion", {"model_id": model, "content": "Hello"})
    grows()
    message = {"model": model, "max_tokens": 100, "messages": [user("Hello")]}
    assert caller.post("/v1/messages", message).status == 200
    grows()
    caller.post(f"{PATH}/{budget['id']}", {"tokens": 1})
    asking = [
        ("/v1/responses", {"model": model, "input": "Hello", "store": store}),
        ("/v1/chat/completions", {"model": model, "messages": [user("Hello")], "store": store}),
        ("/v1/completions", {"model": model, "prompt": "Hello"}),
        ("/v1/inference/chat-completion", {"model_id": model, "messages": [user("Hello")]}),
        ("/v1/inference/completion", {"model_id": model, "content": "Hello"}),
    ]
    for path, body in asking:
        refused(caller.post(path, body))
    for path, body in asking[:3]:
        refused(caller.post(path, {**body, "stream": True}))
    for stream in (False, True):
        answer = caller.post("/v1/messages", {**message, "stream": stream})
        assert (answer.status, answer.json["error"]["type"]) == (429, "rate_limit_error")
        assert answer.headers["x-should-retry"] == "false"
    assert spent(caller, budget) == seen


def test_dollars_need_a_price(caller: Caller, made: Any) -> None:
    talk = Talk(caller)
    made(agent_id=talk.agent, usd=0.5)
    stopped = talk.say("Hello")
    assert (stopped.status, stopped.json["error"]["code"]) == (400, "model_not_budgetable")
    assert "has no price" in stopped.json["error"]["message"]


def test_a_request_allows_its_turn_so_many_dollars(caller: Caller) -> None:
    talk = Talk(caller, model="lab/told", toolgroups=["builtin::demo"])
    function = {"name": "get_weather", "arguments": '{"city": "Bern"}'}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    usage = {"prompt_tokens": 30, "completion_tokens": 5}
    choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
    told = [{"choices": [choice]}, {"choices": [], "usage": usage}]
    body = {"messages": [user(json.dumps(told))], "budget": {"usd": 0.03}}
    failed = caller.post(f"{talk.path}/turn", body)
    assert (failed.status, failed.json["error"]["code"]) == (429, "budget_reached")
    assert "The budget of this turn is reached: $0.03 of $0.03." in failed.json["error"]["message"]


def test_what_a_completion_read_from_a_cache_costs_less(caller: Caller, made: Any) -> None:
    budget = made(user="local", usd=1)
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 20}}
    question = json.dumps([{"choices": [{"index": 0, "delta": {"content": "Hi."}}]}, {"choices": [], "usage": usage}])
    answer = caller.post("/v1/chat/completions", {"model": "lab/told", "messages": [user(question)], "stream": True})
    assert answer.status == 200
    found = caller.get(f"{PATH}/{budget['id']}").json
    assert (found["spent_tokens"], found["spent_usd"]) == (35, 0.012)


def test_embeddings_of_an_endpoint_are_counted_and_stopped(caller: Caller, made: Any) -> None:
    budget = made(user="local", tokens=10)
    body = {"model": "lab/embed", "input": "Hello"}
    assert caller.post("/v1/embeddings", body).status == 200
    assert spent(caller, budget) == USAGE["total_tokens"]
    caller.post(f"{PATH}/{budget['id']}", {"tokens": USAGE["total_tokens"]})
    refused(caller.post("/v1/embeddings", body))


def _tokens(row: Any) -> int:
    return int(row["usage"]["input_tokens"] + row["usage"]["output_tokens"])


def test_sub_agents_spend_of_what_their_callers_have(caller: Caller, made: Any) -> None:
    helper = Talk(caller, name="helper")
    talk = Talk(caller, toolgroups=[{"name": "builtin::agents", "args": {"agents": [helper.agent]}}])
    say = script('call helper {"input": "Hello"}', "then", "say Done.")
    budget = made(session_id=talk.session, tokens=1_000_000)
    assert talk.say(say).status == 200
    [turn] = talk.turns()
    found = caller.get(f"/v1/logs/turns?q=caller:{turn['turn_id']}").json["data"]
    assert len(found) == 1
    below = _tokens(found[0])
    rows = caller.get(f"/v1/logs/turns?q=session:{talk.session}").json["data"]
    own = sum(map(_tokens, rows))
    assert spent(caller, budget) == own + below
    caller.post(f"{PATH}/{budget['id']}", {"tokens": own + below + 1})
    failed = talk.say(say)
    assert (failed.status, failed.json["error"]["code"]) == (429, "budget_reached")
    answer = talk.turns()[1]["steps"][1]["tool_responses"][0]["content"]
    assert "of this session is reached" in answer
