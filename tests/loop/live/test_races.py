"""Requests that meet: one turn at a time in a session, one winner of a resume, one run of a request
that is sent again."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from tests.support.depth import deep
from tests.support.live.caller import Answer, Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = pytest.mark.server

MANY = 25


def at_once(count: int, ask: Any) -> list[Answer]:
    """The answers to ``count`` requests that set out together."""
    start = Barrier(count)

    def one(_: int) -> Answer:
        start.wait(10)
        return ask()  # type: ignore[no-any-return]  # asks for an answer

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def waiting_turn(caller: Caller, *calls: str) -> tuple[Talk, dict[str, Any]]:
    """A turn that waits for answers to these calls of its client's tool."""
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    lines = [f'call ask_user {{"question": "{one}"}}' for one in calls]
    return talk, talk.say(script(*lines, "then", "say Thanks.")).json


# --------------------------------------------------------------------------------- one turn at a time


def test_a_session_runs_one_turn_at_a_time(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    busy = talk.say("Me too!")

    assert busy.status == 409
    assert busy.headers["x-should-retry"] == "false"
    assert busy.json["error"]["type"] == "conflict_error"
    assert busy.json["error"]["code"] == "conversation_locked"
    with talk.following(turn) as stream:
        question.end("Done.")
        assert list(stream)[-1].type == "turn_complete"
    assert [one["turn_id"] for one in talk.turns()] == [turn]


def test_of_many_new_turns_one_wins(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(talk.say, question.question) for _ in range(8)]
        eventually(lambda: sum(each.done() for each in asked) == 7)
        question.end("Mine.")
        answers = [each.result() for each in asked]

    assert Counter(answer.status for answer in answers) == {200: 1, 409: 7}
    [won] = [answer.json for answer in answers if answer.status == 200]
    assert talk.turns() == [won]


def test_a_session_with_a_running_turn_is_not_deleted(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    for path in (talk.path, f"/v1/agents/{talk.agent}"):
        refused = caller.delete(path)
        assert refused.status == 409
        assert refused.headers["x-should-retry"] == "false"
    talk.cancel(turn)

    assert caller.delete(talk.path).status == 204
    assert caller.get(talk.path).status == 404
    assert caller.get(f"{talk.path}/turn/{turn}").status == 404


# ------------------------------------------------------------------------------------- one resume wins


def test_of_many_resumes_exactly_one_wins(caller: Caller) -> None:
    talk, turn = waiting_turn(caller, "Which day?")
    response = answer_to(turn["output_message"]["tool_calls"][0], "Monday")
    answers = at_once(MANY, lambda: talk.answer(turn["turn_id"], response))

    assert Counter(answer.status for answer in answers) == {200: 1, 409: MANY - 1}
    stored = talk.turn(turn["turn_id"])
    assert [step["step_type"] for step in stored["steps"]] == ["inference", "tool_execution", "inference"]


def test_a_turn_needs_the_answers_it_waits_for(caller: Caller) -> None:
    talk, turn = waiting_turn(caller, "Which day?", "Which hour?")
    first, second = (answer_to(call, "x") for call in turn["output_message"]["tool_calls"])
    wrong = {**first, "call_id": "call_nobody"}

    for responses, word in (
        ([], "at least one"),
        ([first], second["call_id"]),
        ([first, first], "twice"),
        ([first, wrong], "call_nobody"),
        ([first, second, wrong], "call_nobody"),
    ):
        refused = talk.answer(turn["turn_id"], *responses)
        assert refused.status == 400
        assert word in refused.json["error"]["message"]
        assert refused.json["error"]["param"] == "tool_responses"
    assert talk.turn(turn["turn_id"]) == turn
    done = talk.answer(turn["turn_id"], second, first).json
    assert done["status"] == "completed"
    [step] = [step for step in done["steps"] if step["step_type"] == "tool_execution"]
    assert [one["call_id"] for one in step["tool_responses"]] == [first["call_id"], second["call_id"]]


def test_a_completed_turn_goes_on_with_calls_the_server_never_saw(caller: Caller) -> None:
    talk = Talk(caller)
    turn = talk.say(script("say Action: look")).json
    seen = {"call_id": "react-1", "tool_name": "look", "content": "a tree"}
    done = talk.answer(turn["turn_id"], seen).json

    assert done["status"] == "completed"
    assert done["turn_id"] == turn["turn_id"]
    assert done["steps"][: len(turn["steps"])] == turn["steps"]
    assert [step["step_type"] for step in done["steps"]] == ["inference", "tool_execution", "inference"]
    assert done["steps"][1]["tool_responses"][0]["content"] == "a tree"
    assert talk.turns() == [done]
    again = talk.answer(turn["turn_id"], seen)
    assert (again.status, again.json["error"]["code"]) == (409, "already_answered")


# ------------------------------------------------------------------------------- a request sent again


@pytest.mark.parametrize("again", [{"Idempotency-Key": "one"}, {"x-stainless-retry-count": "1"}])
def test_a_repeat_attaches_to_the_running_turn(caller: Caller, held: HeldModel, again: dict[str, str]) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    first = again if "Idempotency-Key" in again else {}
    with talk.saying(question.question, first) as stream, talk.saying(question.question, again) as repeat:
        question.end("Once.")
        own, same = list(stream), list(repeat)

    assert [frame.data for frame in same] == [frame.data for frame in own]
    assert len(talk.turns()) == 1


def test_a_repeat_after_the_end_gets_the_first_answer(caller: Caller) -> None:
    talk = Talk(caller)
    first = talk.say("Hello", **{"Idempotency-Key": "k"})
    repeat = talk.say("Hello", **{"Idempotency-Key": "k"})
    counted = talk.say("Hello", **{"x-stainless-retry-count": "2"})
    fresh = talk.say("Hello")
    other_body = talk.say("Bye", **{"Idempotency-Key": "k"})

    assert repeat.json == first.json
    assert counted.json["turn_id"] != fresh.json["turn_id"]
    assert other_body.status == 400
    assert other_body.json["error"]["code"] == "idempotency_mismatch"


def test_a_repeated_resume_attaches_to_its_leg(caller: Caller) -> None:
    talk, turn = waiting_turn(caller, "Which day?")
    body = {"tool_responses": [answer_to(turn["output_message"]["tool_calls"][0], "Monday")], "stream": True}
    path = f"{talk.path}/turn/{turn['turn_id']}/resume"
    with caller.stream(path, body) as stream:
        own = list(stream)
    with caller.stream(path, body, {"x-stainless-retry-count": "1"}) as stream:
        same = list(stream)

    assert own[-1].type == "turn_complete"
    assert [frame.data for frame in same] == [frame.data for frame in own]


def test_of_many_with_one_key_one_runs(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    question.end("Once.")
    answers = at_once(MANY, lambda: talk.say(question.question, **{"Idempotency-Key": "same"}))

    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert len(talk.turns()) == 1


# --------------------------------------------------------------------------------------- again and again


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_whoever_repeats_a_turn_or_a_resume_under_one_key_runs_it_once(caller: Caller) -> None:
    """Fifty at once. Some come while it runs, some when it is over; all are told the same."""
    for number in range(deep(3, 60)):
        talk, turn = waiting_turn(caller, "Which day?")
        body = {"tool_responses": [answer_to(turn["output_message"]["tool_calls"][0], "Monday")], "stream": False}
        key = {"Idempotency-Key": f"round {number}"}
        resumed = partial(caller.post, f"{talk.path}/turn/{turn['turn_id']}/resume", body, **key)
        aside = talk.aside()
        for one, ask in ((aside, partial(aside.say, script("repeat 30 word"), **key)), (talk, resumed)):
            answers = at_once(50, ask)
            assert Counter(answer.status for answer in answers) == {200: 50}
            assert len({answer.body for answer in answers}) == 1
            [made] = one.turns()
            assert made["status"] == "completed"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_whoever_repeats_the_answer_to_a_response_runs_it_once(caller: Caller) -> None:
    tools = [{"type": "function", "name": "ask_user", "parameters": {"type": "object"}}]
    for number in range(deep(3, 60)):
        said = script('call ask_user {"question": "?"}', "then", "say Thanks.")
        first = caller.post("/v1/responses", {"model": "scripted/fast", "input": said, "tools": tools}).json
        [call] = [item for item in first["output"] if item["type"] == "function_call"]
        answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "Monday"}
        body = {"model": "scripted/fast", "input": [answer], "previous_response_id": first["id"], "tools": tools}
        key = {"Idempotency-Key": f"response {number}"}
        answers = at_once(50, partial(caller.post, "/v1/responses", body, **key))
        assert Counter(answer.status for answer in answers) == {200: 50}
        assert len({answer.json["id"] for answer in answers}) == 1


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_of_twenty_resumes_one_wins_every_time(caller: Caller) -> None:
    for _ in range(deep(5, 300)):
        talk, turn = waiting_turn(caller, "Which day?")
        call = turn["output_message"]["tool_calls"][0]
        answers = at_once(20, partial(talk.answer, turn["turn_id"], answer_to(call, "Monday")))
        assert Counter(answer.status for answer in answers) == {200: 1, 409: 19}
        [won] = [answer.json for answer in answers if answer.status == 200]
        assert won == talk.turn(turn["turn_id"])
        assert len(won["steps"][1]["tool_responses"]) == 1
