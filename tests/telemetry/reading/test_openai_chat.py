"""Lines of OpenAI's JSONL files as turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.record.schemas.content import Usage
from agents.telemetry.reading import files, openai_chat
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.outlines import WEATHER, outlines
from tests.telemetry.reading.test_langfuse import ANSWER, ASKED, QUESTION, TOLD

SYSTEM = {"role": "system", "content": "You know the weather."}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
EXAMPLE: dict[str, Any] = {"messages": [SYSTEM, QUESTION, ASKED, TOLD, ANSWER], "tools": [TOOL]}
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_795_168_447,
    "model": "gpt-4o",
    "choices": [{"index": 0, "message": ANSWER, "finish_reason": "stop"}, {"index": 1, "message": ASKED}],
    "usage": {"prompt_tokens": 60, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}},
    "metadata": {"plan": "pro"},
}
BATCH: dict[str, Any] = {
    "id": "batch_req_1",
    "custom_id": "request-1",
    "response": {"status_code": 200, "request_id": "r", "body": COMPLETION},
    "error": None,
}
STORED = {**COMPLETION, "messages": [SYSTEM, QUESTION, ASKED, TOLD]}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_795_168_447,
    "model": "gpt-4o",
    "output": [
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
    ],
    "usage": {"input_tokens": 4, "output_tokens": 2},
}
NO_MODEL = [("", *step[1:]) if len(step) == 3 and step[0] == "gpt-4o" else step for step in WEATHER[1:-1]]


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_an_example_for_fine_tuning_is_a_turn() -> None:
    data = lines(EXAMPLE)
    assert format_of(data) == "openai_chat"
    [turn] = build_turns(files.decode_file("openai_chat", data).spans)
    assert outlines(openai_chat.from_json(EXAMPLE).spans) == [[WEATHER[0], *NO_MODEL, WEATHER[-1]]]
    assert (turn.status, turn.agent, turn.instructions) == ("completed", "openai-chat", "You know the weather.")
    assert turn.session == f"trace:{turn.id}"
    assert turn.tools == ({"name": "weather", "input_schema": {"type": "object"}},)


def test_the_order_of_the_file_stands_for_times_that_it_does_not_have() -> None:
    others = [{"messages": [{"role": "user", "content": f"{number}?"}, ANSWER]} for number in range(3)]
    turns = build_turns(files.decode_file("openai_chat", lines(*others)).spans)
    assert [turn.started_us - openai_chat.FIRST_NS // 1000 for turn in turns] == [1_000_000, 2_000_000, 3_000_000]
    assert openai_chat.from_json(others).spans == files.decode_file("openai_chat", lines(*others)).spans
    assert openai_chat.from_json(others[2], 3).spans == openai_chat.from_json(others).spans[-2:]
    starts = [step.started_us or 0 for step in build_turns(openai_chat.from_json(EXAMPLE).spans)[0].steps]
    assert starts == sorted(starts)


def test_what_came_before_the_last_question_is_history() -> None:
    early = [QUESTION, ASKED, TOLD, ANSWER, {"role": "user", "content": "And"}, {"role": "user", "content": "in Oslo?"}]
    [found] = outlines(openai_chat.from_json({"messages": [*early, {"role": "assistant", "content": "Cold."}]}).spans)
    assert found == ["And in Oslo?", ("", "Cold.", []), "Cold."]


def test_calls_in_the_older_shape_have_their_results() -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "weather", "arguments": "{}"}}
    told = {"role": "function", "name": "weather", "content": "18 degrees"}
    [found] = outlines(openai_chat.from_json({"messages": [QUESTION, call, told, ANSWER]}).spans)
    assert found[2] == ("weather", {}, "18 degrees")


@pytest.mark.parametrize("value", [COMPLETION, BATCH, {"object": "list", "data": [COMPLETION]}, [COMPLETION]])
def test_a_completion_is_an_answer_wherever_it_stands(value: Any) -> None:
    assert format_of(lines(value)) == format_of(json.dumps(value, indent=1).encode()) == "openai_chat"
    [turn] = build_turns(files.decode_file("openai_chat", lines(value)).spans)
    assert turn.id == "openai:chatcmpl-1"
    assert turn.started_us == COMPLETION["created"] * 10**6
    [step] = turn.steps
    assert (step.model, step.provider) == ("gpt-4o", "openai")
    assert step.usage == Usage(input_tokens=60, output_tokens=7, cached_tokens=5)


def test_a_stored_completion_with_its_messages_is_a_whole_turn() -> None:
    [found] = outlines(openai_chat.from_json(STORED).spans)
    assert found == [WEATHER[0], *NO_MODEL[:2], WEATHER[3], WEATHER[-1]]
    [turn] = build_turns(openai_chat.from_json(STORED).spans)
    assert turn.metadata == {"plan": "pro"}


def test_a_batch_may_hold_responses_and_failures() -> None:
    response = {**BATCH, "response": {"status_code": 200, "body": RESPONSE}}
    [found] = outlines(openai_chat.from_json(response).spans)
    assert found[1:] == [("gpt-4o", "Wait.", ["weather"]), ("weather", {"city": "Rome"}), "Wait."]
    refused = {**BATCH, "response": {"status_code": 400, "body": {"error": {"message": "no such model"}}}}
    expired = {**BATCH, "response": None, "error": {"code": "batch_expired", "message": "too late"}}
    turns = build_turns(openai_chat.from_json([refused, {**expired, "id": "batch_req_2"}]).spans)
    assert [(turn.status, turn.error and turn.error.message) for turn in turns] == [
        ("failed", "no such model"),
        ("failed", "too late"),
    ]


def test_a_broken_line_is_rejected_among_good_ones() -> None:
    request = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": [QUESTION]}}
    decoded = files.decode_file("openai_chat", lines(EXAMPLE, {"messages": []}, request, {**BATCH, "response": {}}))
    assert (len(build_turns(decoded.spans)), decoded.rejected) == (1, 3)
    assert "it is a request without an answer" in decoded.problem


@pytest.mark.parametrize(
    ("body", "param"), [("x", None), ({}, "messages"), ([5], "data[0]"), ({"messages": 5}, "messages")]
)
def test_it_refuses_what_is_no_line(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        openai_chat.from_json(body)
    assert refused.value.param == param
