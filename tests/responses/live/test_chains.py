"""Responses that build upon others: function calls and their answers, chains and branches, retries,
hanging up."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.responses import ResponseFunctionToolCall

from tests.loop.live.test_races import at_once
from tests.support.live.caller import Caller, script
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.openai_api import (
    MODEL,
    answered,
    asked,
    created,
    frames_of,
    function,
    output_to,
    said,
    streamed,
    text,
    turns,
)
from tests.support.live.process import ServerProcess, eventually
from tests.support.model_lab import ModelLab

pytestmark = pytest.mark.server

LOOK: Any = function("look", "at")
TWO = ('call look {"at": "left"}', 'call look {"at": "right"}', "then", "say Seen.")


@pytest.fixture
def client(openai_client: OpenAI) -> OpenAI:
    return openai_client


@pytest.fixture
def mark() -> str:
    return f"mark{uuid.uuid4().hex}"


def calls_of(response: Any) -> list[ResponseFunctionToolCall]:
    return [item for item in response.output if item.type == "function_call"]


def held_answer(held: HeldModel, *words: str) -> Held:
    """A question whose answer is known already."""
    answer = held.hold()
    answer.end(*(words or ("Well.",)))
    return answer


# ----------------------------------------------------------------------------------------- functions


def test_two_calls_are_answered_in_one_turn(client: OpenAI, caller: Caller, mark: str) -> None:
    first = client.responses.create(model=MODEL, input=script(f"say {mark}", *TWO), tools=[LOOK])
    left, right = calls_of(first)
    assert first.status == "completed"
    assert [json.loads(call.arguments) for call in (left, right)] == [{"at": "left"}, {"at": "right"}]
    assert [item.type for item in first.output] == ["message", "function_call", "function_call"]
    assert len({left.call_id, right.call_id, left.id, right.id}) == 4
    [waiting] = turns(caller, mark)
    assert (waiting["status"], waiting["counts"]["steps"]) == ("awaiting_input", 3)

    second = client.responses.create(
        model=MODEL,
        input=[output_to(right, "a dog"), output_to(left, "a cat")],  # type: ignore[list-item]  # plain dicts will do
        tools=[LOOK],
        previous_response_id=first.id,
    )
    assert second.output_text == "Seen."
    [turn] = turns(caller, mark)
    assert (turn["id"], turn["status"]) == (waiting["id"], "completed")
    assert [step["type"] for step in turn["steps"]] == ["inference", "tool_execution", "tool_execution", "inference"]
    assert {step["status"] for step in turn["steps"]} == {"completed"}
    assert [item.type for item in second.output] == ["message"]
    assert client.responses.retrieve(first.id) == first
    assert client.responses.retrieve(second.id) == second


def test_the_agents_api_shows_both_legs_as_one_turn(client: OpenAI, caller: Caller, mark: str) -> None:
    first = client.responses.create(model=MODEL, input=script(f"say {mark}", *TWO), tools=[LOOK])
    outputs: Any = [output_to(call, f"a cat at the {json.loads(call.arguments)['at']}") for call in calls_of(first)]
    client.responses.create(model=MODEL, input=outputs, tools=[LOOK], previous_response_id=first.id)
    [row] = turns(caller, mark)
    page = caller.get(f"/turns/{row['id']}/?view=raw")
    assert page.status == 200
    for words in (b"a cat at the left", b"a cat at the right", b"Seen."):
        assert words in page.body


def test_the_answers_are_inputs_of_the_second_response(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=script(*TWO), tools=[LOOK])
    outputs: Any = [output_to(call, "a cat") for call in calls_of(first)]
    second = client.responses.create(model=MODEL, input=outputs, tools=[LOOK], previous_response_id=first.id)
    items = list(client.responses.input_items.list(second.id, order="asc"))
    assert [item.type for item in items] == [
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert len({item.id for item in items}) == 5


def test_a_continued_turn_streams_only_its_own_part(caller: Caller) -> None:
    first = streamed(caller, asked("say Let me look.", 'call look {"at": "it"}', "then", "say Seen.", tools=[LOOK]))
    response = first[-1].data["response"]
    call = response["output"][-1]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a cat"}
    body = {"model": MODEL, "input": [output], "tools": [LOOK], "previous_response_id": response["id"]}
    second = streamed(caller, body)
    assert [frame.data["sequence_number"] for frame in second] == list(range(len(second)))
    assert "".join(frame.data["delta"] for frame in second if frame.type.endswith("text.delta")) == "Seen."
    assert next(frame.data["output_index"] for frame in second if "output_index" in frame.data) == 0
    for frames in (first, second):
        name = frames[-1].data["response"]["id"]
        again = frames_of(caller.get(f"/v1/responses/{name}?stream=true").body)
        assert [frame.raw for frame in again] == [frame.raw for frame in frames]


def test_more_is_said_beside_an_answer(client: OpenAI, lab: ModelLab, held: HeldModel) -> None:
    first = client.responses.create(model=MODEL, input=script('call look {"at": "it"}'), tools=[LOOK])
    answer = held_answer(held)
    given: Any = [output_to(calls_of(first)[0], "a cat"), said(answer.question)]
    client.responses.create(model="held/held", input=given, tools=[LOOK], previous_response_id=first.id)
    roles = [message["role"] for message in answer.asked[0]]
    assert roles == ["user", "assistant", "tool", "user"]


def test_an_answer_that_is_missing_is_named(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input=script(*TWO), tools=[LOOK])
    left, right = calls_of(first)
    one: Any = [output_to(left, "a cat")]
    with pytest.raises(openai.BadRequestError, match=f"No tool output found for function call {right.call_id}"):
        client.responses.create(model=MODEL, input=one, previous_response_id=first.id)
    with pytest.raises(openai.BadRequestError, match=f"No tool output found for function call {left.call_id}"):
        client.responses.create(model=MODEL, input="Never mind.", previous_response_id=first.id)


def test_an_answer_to_no_call_is_refused(client: OpenAI) -> None:
    output: Any = [{"type": "function_call_output", "call_id": "call_nobody", "output": "x"}]
    with pytest.raises(openai.BadRequestError, match="No tool call found for function call output with call_id"):
        client.responses.create(model=MODEL, input=output)


def test_calls_are_answered_once_and_then_branched_from(client: OpenAI, held: HeldModel) -> None:
    first = client.responses.create(model=MODEL, input=script('call look {"at": "it"}'), tools=[LOOK])
    [call] = calls_of(first)
    seen = []
    for found in ("a cat", "a dog"):
        answer = held_answer(held)
        given: Any = [output_to(call, found), said(answer.question)]
        client.responses.create(model="held/held", input=given, previous_response_id=first.id)
        seen.append(json.dumps(answer.asked[0]))
    assert "a cat" in seen[0]
    assert "a dog" in seen[1]
    assert "a cat" not in seen[1]


def test_of_many_answers_at_once_one_continues_the_turn(client: OpenAI, caller: Caller, mark: str) -> None:
    first = client.responses.create(model=MODEL, input=script(f"say {mark}", *TWO), tools=[LOOK])
    outputs = [output_to(call, "a cat") for call in calls_of(first)]
    body = {"model": MODEL, "input": outputs, "tools": [LOOK], "previous_response_id": first.id}
    answers = at_once(8, lambda: caller.post("/v1/responses", body))
    assert {answer.status for answer in answers} <= {200, 400}
    won = [answer.json for answer in answers if answer.status == 200]
    assert won
    for answer in answers:
        if answer.status == 400:
            assert answer.json["error"]["code"] == "conversation_locked"
    [turn] = turns(caller, f"{mark} status:completed")
    assert [step["type"] for step in turn["steps"]].count("tool_execution") == 2
    assert all(text(one) for one in won)


# -------------------------------------------------------------------------------------------- choice

CHOICES: list[tuple[Any, list[str], Any]] = [
    ("auto", ["look", "hear"], "auto"),
    ("required", ["look", "hear"], "required"),
    ({"type": "function", "name": "hear"}, ["look", "hear"], {"type": "function", "function": {"name": "hear"}}),
    ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "hear"}]}, ["hear"], "auto"),
    (
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]},
        ["look"],
        "required",
    ),
]


@pytest.mark.parametrize(("choice", "offered", "sent"), CHOICES)
def test_a_choice_of_tools_reaches_the_endpoint(
    guarded: ServerProcess, lab: ModelLab, mark: str, choice: Any, offered: list[str], sent: Any
) -> None:
    body = {"model": "lab/chat", "input": mark, "tools": [LOOK, function("hear")], "tool_choice": choice}
    response = answered(Caller(guarded.port).post("/v1/responses", body)).json
    assert response["tool_choice"] == choice
    assert [tool["name"] for tool in response["tools"]] == ["look", "hear"]
    request = lab.sent("/chat/completions", mark)
    assert [tool["function"]["name"] for tool in request["tools"]] == offered
    assert request.get("tool_choice", "auto") == sent


def test_no_choice_sends_no_tools(guarded: ServerProcess, lab: ModelLab, mark: str) -> None:
    body = {"model": "lab/chat", "input": mark, "tools": [LOOK], "tool_choice": "none"}
    answered(Caller(guarded.port).post("/v1/responses", body))
    assert not {"tools", "tool_choice"} & set(lab.sent("/chat/completions", mark))


@pytest.mark.parametrize(
    "choice",
    [
        "sometimes",
        7,
        {"type": "function"},
        {"type": "function", "name": "fly"},
        {"type": "mcp", "server_label": "nobody"},
        {"type": "mcp"},
        {"type": "file_search"},
        {"type": "allowed_tools", "mode": "auto", "tools": []},
        {"type": "allowed_tools", "mode": "sometimes", "tools": [{"type": "function", "name": "look"}]},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "fly"}]},
    ],
)
def test_a_choice_that_is_none_is_refused(caller: Caller, choice: Any) -> None:
    answer = caller.post("/v1/responses", asked("say Hi", tools=[LOOK], tool_choice=choice))
    assert answer.status == 400
    assert "tool_choice" in answer.json["error"]["message"]
    assert answer.json["error"]["param"].startswith("tool_choice")


def test_a_forced_call_is_not_forced_again(client: OpenAI) -> None:
    """A choice holds for the first inference; else nothing would ever be said."""
    choice: Any = {"type": "function", "name": "look"}
    first = client.responses.create(model=MODEL, input="Hello", tools=[LOOK], tool_choice=choice)
    [call] = calls_of(first)
    assert call.name == "look"


def test_one_call_at_a_time(client: OpenAI, guarded: ServerProcess, lab: ModelLab, mark: str) -> None:
    response = client.responses.create(model=MODEL, input=script(*TWO), tools=[LOOK], parallel_tool_calls=False)
    assert [json.loads(call.arguments) for call in calls_of(response)] == [{"at": "left"}]
    assert response.parallel_tool_calls is False
    [call] = calls_of(response)
    output: Any = [output_to(call, "a cat")]
    again = client.responses.create(model=MODEL, input=output, tools=[LOOK], previous_response_id=response.id)
    assert again.status == "completed"

    body = {"model": "lab/chat", "input": mark, "tools": [LOOK], "parallel_tool_calls": False}
    answered(Caller(guarded.port).post("/v1/responses", body))
    assert lab.sent("/chat/completions", mark)["parallel_tool_calls"] is False


def test_two_tools_of_one_name_are_refused(caller: Caller) -> None:
    answer = caller.post("/v1/responses", asked("say Hi", tools=[LOOK, LOOK]))
    assert (answer.status, answer.json["error"]["param"]) == (400, "tools")


# --------------------------------------------------------------------------------------------- chains


def test_two_branches_do_not_see_each_other(client: OpenAI, held: HeldModel) -> None:
    root = client.responses.create(model=MODEL, input=script("say The root."))
    heard: dict[str, str] = {}
    ends: dict[str, str] = {}
    for side in ("left", "right"):
        answer = held_answer(held, f"The {side} branch.")
        response = client.responses.create(
            model="held/held", input=f"{answer.question}\ngo {side}", previous_response_id=root.id
        )
        heard[side], ends[side] = json.dumps(answer.asked[0]), response.id
    assert "The root." in heard["left"]
    assert "The root." in heard["right"]
    assert "left" not in heard["right"]

    for side, other in (("left", "right"), ("right", "left")):
        answer = held_answer(held)
        response = client.responses.create(model="held/held", input=answer.question, previous_response_id=ends[side])
        words = json.dumps(answer.asked[0])
        assert "The root." in words
        assert f"The {side} branch." in words
        assert other not in words
        items = list(client.responses.input_items.list(response.id, order="asc"))
        assert len(items) == 5
        assert other not in str(items)


def test_branches_grow_at_the_same_time(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    root = client.responses.create(model=MODEL, input=script("say The root."))
    answers = [held.hold() for _ in range(3)]
    made = [
        client.responses.create(
            model="held/held", input=answer.question, previous_response_id=root.id, background=True
        ).id
        for answer in answers
    ]
    for answer in answers:
        eventually(lambda answer=answer: answer.asked)  # type: ignore[misc]  # bound now
    for number, answer in reversed(list(enumerate(answers))):
        answer.end(f"Branch {number}.")
    for number, name in enumerate(made):
        done = eventually(lambda name=name: (now := client.responses.retrieve(name)).status == "completed" and now)  # type: ignore[misc]  # bound now
        assert done.output_text == f"Branch {number}."
        items = list(client.responses.input_items.list(name, order="asc"))
        assert len(items) == 3
    for number, name in enumerate(made):
        answer = held_answer(held)
        client.responses.create(model="held/held", input=answer.question, previous_response_id=name)
        words = json.dumps(answer.asked[0])
        assert [other for other in range(3) if f"Branch {other}." in words] == [number]


def test_a_turn_that_was_given_up_is_answered_after_all(client: OpenAI, caller: Caller, held: HeldModel) -> None:
    first = client.responses.create(model=MODEL, input=script('call look {"at": "it"}'), tools=[LOOK])
    session = caller.get("/v1/conversations?limit=1").json["data"][0]["id"]
    client.responses.create(model=MODEL, input=script("say Never mind."), conversation=session)
    answer = held_answer(held)
    given: Any = [output_to(calls_of(first)[0], "a cat"), said(answer.question)]
    client.responses.create(model="held/held", input=given, previous_response_id=first.id)
    assert [message["role"] for message in answer.asked[0]] == ["user", "assistant", "tool", "user"]
    assert "a cat" in json.dumps(answer.asked[0])
    last = held_answer(held)
    client.responses.create(model="held/held", input=last.question, previous_response_id=first.id)
    assert [message["role"] for message in last.asked[0]] == ["user", "user"]


def test_a_long_chain_is_told_in_order(client: OpenAI, held: HeldModel) -> None:
    last: Any = None
    for number in range(6):
        last = client.responses.create(
            model=MODEL, input=script(f"say answer {number}"), previous_response_id=last.id if last else None
        )
    answer = held_answer(held)
    client.responses.create(model="held/held", input=answer.question, previous_response_id=last.id)
    roles = [message["role"] for message in answer.asked[0]]
    assert roles == [*["user", "assistant"] * 6, "user"]
    assert [message["content"] for message in answer.asked[0][1:-1:2]] == [f"answer {number}" for number in range(6)]


def test_items_are_referred_to_by_their_ids(client: OpenAI, held: HeldModel) -> None:
    line = script("think Hm.", "say Let me look.", 'call look {"at": "it"}', "then", "say Seen.")
    first = client.responses.create(model=MODEL, input=line, tools=[LOOK])
    [asked_with] = client.responses.input_items.list(first.id).data
    answer = held_answer(held)
    thought, words, call = first.output
    named: Any = [{"type": "item_reference", "id": item.id} for item in (asked_with, thought, words, call)]
    named[0].pop("type")  # it may be left out
    given = [*named, output_to(call, "a cat"), said(answer.question)]
    second = client.responses.create(model="held/held", input=given)
    assert [message["role"] for message in answer.asked[0]] == ["user", "assistant", "tool", "user"]
    assert answer.asked[0][1]["content"] == "Let me look."
    items = list(client.responses.input_items.list(second.id, order="asc"))
    assert [item.type for item in items][:4] == ["message", "reasoning", "message", "function_call"]
    with pytest.raises(openai.NotFoundError, match="Item 'msg_nobody' not found"):
        client.responses.create(model=MODEL, input=[{"type": "item_reference", "id": "msg_nobody"}])


def test_equal_messages_are_all_told(client: OpenAI, held: HeldModel) -> None:
    answer = held_answer(held)
    first = client.responses.create(model=MODEL, input=[said("Again."), said("Again.")])  # type: ignore[list-item]  # plain dicts
    second = client.responses.create(model=MODEL, input="Again.", previous_response_id=first.id)
    client.responses.create(model="held/held", input=answer.question, previous_response_id=second.id)
    assert [one["content"] for one in answer.asked[0] if one["role"] == "user"][:3] == ["Again."] * 3


def test_instructions_are_not_carried_over(client: OpenAI, held: HeldModel) -> None:
    one, two = held_answer(held), held_answer(held)
    first = client.responses.create(model="held/held", input=one.question, instructions="Speak French.")
    second = client.responses.create(model="held/held", input=two.question, previous_response_id=first.id)
    assert one.asked[0][0] == {"role": "system", "content": "Speak French."}
    assert "French" not in json.dumps(two.asked[0])
    assert (first.instructions, second.instructions) == ("Speak French.", None)
    assert second.previous_response_id == first.id


def test_what_is_still_running_cannot_be_built_upon(client: OpenAI, held: HeldModel) -> None:
    answer = held.hold()
    running = client.responses.create(model="held/held", input=answer.question, background=True)
    with pytest.raises(openai.BadRequestError, match=r"previous_response_id: .* still in progress"):
        client.responses.create(model=MODEL, input="hi", previous_response_id=running.id)
    answer.end("Done.")


@pytest.mark.parametrize("name", ["resp_nobody", "", "resp_" + "0" * 32, "nonsense"])
def test_an_unknown_previous_response_is_not_found(client: OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError, match=r"not found\. Use 'client\.responses\.list"):
        client.responses.create(model=MODEL, input="hi", previous_response_id=name)


# -------------------------------------------------------------------------------------------- retries


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_sent_again_is_never_run_twice(caller: Caller, mark: str, stream: bool) -> None:
    body = asked(f"say {mark}", stream=stream)
    first = answered(caller.post("/v1/responses", body))
    again = answered(caller.post("/v1/responses", body, **{"X-Stainless-Retry-Count": "1"}))
    assert again.body == first.body
    assert len(turns(caller, mark)) == 1
    answered(caller.post("/v1/responses", body))  # by somebody who means it
    assert len(turns(caller, mark)) == 2


def test_a_key_names_one_request(caller: Caller, mark: str) -> None:
    key = {"Idempotency-Key": mark}
    first = answered(caller.post("/v1/responses", asked(f"say {mark}"), **key))
    again = answered(caller.post("/v1/responses", asked(f"say {mark}"), **key))
    assert again.body == first.body
    assert len(turns(caller, mark)) == 1
    other = caller.post("/v1/responses", asked("say something else"), **key)
    assert (other.status, other.json["error"]["code"]) == (400, "idempotency_mismatch")


def test_of_many_sent_at_once_under_a_key_one_is_run(caller: Caller, mark: str) -> None:
    bodies = at_once(
        8, lambda: answered(caller.post("/v1/responses", asked(f"say {mark}"), **{"Idempotency-Key": mark})).json
    )
    assert len({body["id"] for body in bodies}) == 1  # type: ignore[index]  # bodies
    assert len(turns(caller, mark)) == 1


def test_answers_sent_again_continue_the_turn_once(client: OpenAI, caller: Caller, mark: str) -> None:
    first = client.responses.create(model=MODEL, input=script(f"say {mark}", *TWO), tools=[LOOK])
    outputs = [output_to(call, "a cat") for call in calls_of(first)]
    body = {"model": MODEL, "input": outputs, "tools": [LOOK], "previous_response_id": first.id}
    second = answered(caller.post("/v1/responses", body))
    again = answered(caller.post("/v1/responses", body, **{"X-Stainless-Retry-Count": "2"}))
    assert again.body == second.body
    assert len(turns(caller, mark)) == 1


def test_a_background_response_sent_again_is_told_as_it_is(caller: Caller, mark: str) -> None:
    body = asked(f"say {mark}", background=True)
    first = answered(caller.post("/v1/responses", body)).json
    eventually(lambda: caller.get(f"/v1/responses/{first['id']}").json["status"] == "completed")
    again = answered(caller.post("/v1/responses", body, **{"X-Stainless-Retry-Count": "1"})).json
    assert (again["id"], again["status"]) == (first["id"], "completed")
    assert text(again) == mark


# ------------------------------------------------------------------------------------------ hanging up


def test_a_stream_that_is_cut_by_its_reader_is_stored(caller: Caller, held: HeldModel) -> None:
    answer = held.hold()
    body = {"model": "held/held", "input": answer.question, "stream": True}
    with caller.open("POST", "/v1/responses", body) as response:
        answer.say("One ")
        name = _read_until(response, b"output_text.delta")
    answer.end("two.")
    stored = eventually(lambda: _completed(caller, name))
    assert text(stored) == "One two."


def _read_until(response: Any, what: bytes) -> str:
    """Reads lines until one holds ``what``; the id of the response."""
    name = ""
    while what not in (line := response.readline()):
        if line.startswith(b"data: ") and not name:
            name = json.loads(line[6:])["response"]["id"]
    return name


def _completed(caller: Caller, name: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.get(f"/v1/responses/{name}").json
    return found if found["status"] == "completed" else {}


def test_who_does_not_wait_finds_it_in_the_list(caller: Caller, held: HeldModel, mark: str) -> None:
    answer = held.hold()
    body = {"model": "held/held", "input": answer.question, "metadata": {"run": mark}}
    with caller.sent("POST", "/v1/responses", body):
        eventually(lambda: answer.asked)
    answer.end("Done.")

    def listed() -> Sequence[Any]:
        rows = caller.get(f"/v1/responses?metadata[run]={mark}").json["data"]
        return [row for row in rows if row["status"] == "completed"]

    [found] = eventually(listed)
    assert text(found) == "Done."


def test_the_official_client_that_closes_a_stream_loses_nothing(client: OpenAI, held: HeldModel) -> None:
    answer = held.hold()
    with client.responses.create(model="held/held", input=answer.question, stream=True) as stream:
        first = next(iter(stream))
    assert first.type == "response.created"
    answer.end("Done.")
    done = eventually(lambda: (now := client.responses.retrieve(first.response.id)).status == "completed" and now)
    assert done.output_text == "Done."


def test_a_chain_of_functions_is_one_turn(client: OpenAI, caller: Caller, mark: str) -> None:
    lines = [f"say {mark}", 'call look {"at": "1"}', "then", 'call look {"at": "2"}', "then", "say Seen."]
    response: Any = client.responses.create(model=MODEL, input=script(*lines), tools=[LOOK])
    legs = [response]
    while calls := calls_of(response):
        outputs: Any = [output_to(call, f"found {json.loads(call.arguments)['at']}") for call in calls]
        response = client.responses.create(model=MODEL, input=outputs, tools=[LOOK], previous_response_id=response.id)
        legs.append(response)
    assert (len(legs), response.output_text) == (3, "Seen.")
    [turn] = turns(caller, mark)
    assert [step["type"] for step in turn["steps"]] == ["inference", "tool_execution"] * 2 + ["inference"]
    assert turn["usage"]["output_tokens"] == sum(leg.usage.output_tokens for leg in legs)
    assert [client.responses.retrieve(leg.id) for leg in legs] == legs
    assert created(caller, "say Hi", previous_response_id=legs[0].id, store=False)["status"] == "completed"
