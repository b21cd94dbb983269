"""The scripted model: its own replies, and how it heeds a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from agents.base.errors import InvalidRequest, ProviderError
from agents.loop.inference.base import InferenceRequest, Model
from agents.loop.inference.script import known
from agents.loop.inference.scripted import TOKEN_S, ScriptedEndpoint
from agents.record.schemas.content import GrammarFormat, JsonSchemaFormat, SamplingParams, ToolDef, ToolParameter

Build = Callable[..., Any]

WEATHER = ToolDef(name="get_weather", parameters=[ToolParameter(name="city", parameter_type="str", description="")])
ORDER = ToolDef(name="lookupOrder", parameters=[ToolParameter(name="order_id", parameter_type="str", description="")])
TIME = ToolDef(
    name="current_time",
    input_schema={
        "properties": {"format": {"enum": ["long", "short"]}, "hours": {"type": "integer"}},
        "required": ["format", "hours"],
    },
)
TOOLS = [WEATHER, ORDER, TIME]


# Its own replies.


def test_it_greets(perform: Build) -> None:
    assert perform("Hello!").text.startswith("Hello! I am a **scripted model**")


def test_it_quotes_the_question_and_remembers_the_conversation(perform: Build) -> None:
    first = perform("Why?").text
    later = perform(
        {"role": "system", "content": "Be nice."}, "Why?", {"role": "assistant", "content": first}, "Why\nnot?"
    ).text
    assert "> Why?\n\nIt is the first message" in first
    assert "> Why\n> not?\n\nBefore it came **2 messages**, the first of which was:\n\n> Why?" in later


def test_it_reads_the_text_among_images(perform: Build) -> None:
    parts = [
        {"type": "text", "text": "What is"},
        {"type": "image_url", "image_url": {"url": "data:,"}},
        {"type": "text", "text": "this?"},
    ]
    assert "> What is\n> this?" in perform({"role": "user", "content": parts}).text


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ("What is the weather in New York today?", ("get_weather", '{"city":"New York"}')),
        ("Will it rain for us", ("get_weather", '{"city":"us"}')),
        ("Where is my order #A-123?", ("lookupOrder", '{"order_id":"A-123"}')),
        ("what time is it, short, plus 3 hours", ("current_time", '{"format":"short","hours":3}')),
        ("what time is it", ("current_time", '{"format":"long","hours":0}')),
    ],
)
def test_it_calls_the_tool_whose_name_fits(perform: Build, question: str, call: tuple[str, str]) -> None:
    answer = perform(question, tools=TOOLS)
    assert (answer.calls, answer.text, answer.reason) == ([call], "", "tool_calls")


def known_question() -> dict[str, str]:
    return {"Where has my teapot gone?": 'call get_weather {"city": "Rome"}\nthen\nsay It is in Rome.'}


def test_it_plays_the_script_of_a_question_that_it_knows(perform: Build) -> None:
    known.learn(known_question)
    [question] = known_question()
    assert perform(question, tools=TOOLS).calls == [("get_weather", '{"city": "Rome"}')]
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "rain"}
    assert perform(question, asked, result, tools=TOOLS).text == "It is in Rome."
    assert "> Where has my teapot gone?" in perform(question).text, "it calls no tool that it has not"


def test_it_calls_no_tool_that_does_not_fit(perform: Build) -> None:
    assert perform("Get me a coffee", tools=TOOLS).calls == []


def test_it_tells_what_the_tools_said(perform: Build, called: Build, result: Build) -> None:
    answer = perform("weather in Rome", called("get_weather"), result('{"sky": "blue", "degrees": 21}'), tools=TOOLS)
    assert answer.calls == []
    assert "`get_weather` says:\n\n- **sky**: blue\n- **degrees**: 21" in answer.text


@pytest.mark.parametrize("text", ["", "{}", "[" * 100_000, "line\nline", "<b>\x00"])
def test_it_quotes_a_result_that_is_no_object(perform: Build, called: Build, result: Build, text: str) -> None:
    answer = perform("weather", called("get_weather"), result(text))
    assert "`get_weather` says:\n\n> " in answer.text


def test_it_answers_a_schema_with_an_instance(perform: Build) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "required": ["name", "tags"],
    }
    answer = perform("hi", response_format=JsonSchemaFormat(json_schema=schema))
    assert msgspec.json.decode(answer.text) == {"name": "name", "tags": ["tags"]}


def test_it_calls_a_tool_before_it_answers_a_schema(perform: Build, called: Build, result: Build) -> None:
    schema = JsonSchemaFormat(json_schema={"type": "integer"})
    assert perform("weather in Rome", tools=TOOLS, response_format=schema).calls == [("get_weather", '{"city":"Rome"}')]
    told = perform("weather in Rome", called("get_weather"), result("fine"), tools=TOOLS, response_format=schema)
    assert told.text == "0"


# How it heeds a request.


def test_it_calls_nothing_when_told_not_to(perform: Build) -> None:
    assert perform("weather in Rome", tools=TOOLS, tool_choice="none").calls == []
    answer = perform("!script\nsay a\ncall f", tools=TOOLS, tool_choice="none")
    assert (answer.text, answer.calls, answer.reason) == ("a", [], "stop")


@pytest.mark.parametrize(
    ("question", "choice", "call"),
    [
        ("Where is order 7?", "required", ("lookupOrder", '{"order_id":"7"}')),
        ("No idea", "required", ("get_weather", '{"city":"No idea"}')),
        ("weather in Rome", "lookupOrder", ("lookupOrder", '{"order_id":"Rome"}')),
        ("!script\nthink hm\nsay a", "lookupOrder", ("lookupOrder", '{"order_id":"!script\\nthink hm\\nsay a"}')),
        ("!script\ncall f", "required", ("f", "{}")),
    ],
)
def test_it_calls_a_tool_when_it_must(perform: Build, question: str, choice: str, call: tuple[str, str]) -> None:
    answer = perform(question, tools=TOOLS, tool_choice=choice)
    assert (answer.calls, answer.text) == ([call], "")


def test_it_calls_a_tool_again_as_long_as_it_must(perform: Build, called: Build, result: Build) -> None:
    answer = perform("weather in Rome", called("get_weather"), result("fine"), tools=TOOLS, tool_choice="required")
    assert answer.calls == [("get_weather", '{"city":"Rome"}')]


def test_it_lets_a_script_fail_where_a_tool_is_required(perform: Build) -> None:
    assert perform("!script fail 500", tools=TOOLS, tool_choice="required").error is not None


def test_it_refuses_a_choice_that_was_not_offered(perform: Build) -> None:
    answer = perform("hi", tools=TOOLS, tool_choice="other")
    assert str(answer.error) == "scripted answered 400: tool_choice names 'other', a tool that was not offered"


@pytest.mark.parametrize(
    ("limit", "text", "reason"), [(2, "one two", "length"), (3, "one two three", "stop"), (0, "one two three", "stop")]
)
def test_it_stops_at_max_tokens(perform: Build, limit: int, text: str, reason: str) -> None:
    answer = perform("!script say one two three", sampling=SamplingParams(max_tokens=limit))
    assert (answer.text, answer.reason) == (text, reason)


def test_it_does_nothing_more_after_max_tokens(perform: Build) -> None:
    answer = perform("!script\nthink one\nsay two\nwait 1s\nfail 500", sampling=SamplingParams(max_tokens=1))
    assert (answer.thought, answer.text, answer.reason, answer.pauses) == ("one", "", "length", [])


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        (["two"], "one "),
        (["e t"], "on"),
        (["three", "two"], "one "),
        (["e three\nfo"], "one two three\nfour"),
        (["four"], "one two three\n"),
        (["our five"], "one two three\nfour"),
        (["one"], ""),
        (["", "x"], "one two three\nfour"),
    ],
)
def test_it_ends_before_a_stop(perform: Build, stop: list[str], text: str) -> None:
    answer = perform("!script\nsay one two three\nsay four", sampling=SamplingParams(stop=stop))
    assert (answer.text, answer.reason) == (text, "stop")


def test_it_does_nothing_more_after_a_stop(perform: Build) -> None:
    script = "!script\nsay one two\nwait 1s\ncall f\nfinish length"
    answer = perform(script, sampling=SamplingParams(stop=["two"]))
    assert (answer.text, answer.calls, answer.reason, answer.pauses) == ("one ", [], "stop", [])
    cut = perform(script, sampling=SamplingParams(stop=["two three"], max_tokens=2))
    assert (cut.text, cut.reason) == ("one two", "length")


def test_it_counts_words(perform: Build) -> None:
    finish = perform({"role": "system", "content": "Be very nice."}, "!script\nthink a b\nsay c d e").finish
    assert finish is not None
    assert finish.usage is not None
    assert finish.usage.model_dump() == {
        "input_tokens": 11,
        "output_tokens": 5,
        "cached_tokens": 0,
        "reasoning_tokens": 2,
    }


def test_it_paces_only_the_demo(perform: Build) -> None:
    assert perform("!script say one two three", model="demo").pauses == [TOKEN_S] * 3
    assert perform("!script say one two three", model="scripted/demo").pauses == [TOKEN_S] * 3
    assert perform("!script say one two three", model="fast").pauses == []


def test_it_lets_others_run_while_it_talks_without_pace() -> None:
    async def main() -> bool:
        ticked = False

        async def tick() -> None:
            nonlocal ticked
            ticked = True

        other = asyncio.create_task(tick())
        question = b'{"role":"user","content":"!script repeat 200 a"}'
        async for _ in ScriptedEndpoint().stream(InferenceRequest("fast", [question])):
            pass
        done = ticked
        await other
        return done

    assert asyncio.run(main())


def test_the_same_conversation_gets_the_same_answer(perform: Build) -> None:
    conversations: Sequence[Any] = ["hello", "why?", "weather in Rome", "!script repeat 9 x"]
    answers = [[perform(text, tools=TOOLS).chunks for _ in range(2)] for text in conversations]
    assert all(first == second for pair in answers for first, second in pairwise(pair))


@pytest.mark.parametrize("model", ["", "gpt-4o", "other/demo", "scripted/", "x" * 10_000])
def test_it_knows_no_other_model(perform: Build, model: str) -> None:
    error = perform("hi", model=model).error
    assert isinstance(error, ProviderError)
    assert (error.code, error.upstream_status) == ("model_not_found", 404)
    assert len(str(error)) < 600


@pytest.mark.parametrize(
    "message", [b"", b"[]", b"{}", b'{"role": 7}', b"\xff", b'{"role":"user","content":' + b"[" * 100_000]
)
def test_it_refuses_what_is_no_message(perform: Build, message: bytes) -> None:
    error = perform("hi", message).error
    assert isinstance(error, ProviderError)
    assert "message 1 cannot be read" in str(error)


def test_it_answers_even_without_messages(perform: Build) -> None:
    assert perform().text.startswith("You said:\n\n> nothing")


def test_it_refuses_a_grammar(perform: Build) -> None:
    assert isinstance(perform("hi", response_format=GrammarFormat(bnf={})).error, InvalidRequest)


def test_it_lists_its_models() -> None:
    listed = asyncio.run(ScriptedEndpoint().models())
    assert [(model.id, model.provider, model.resource_id) for model in listed] == [
        ("scripted/demo", "scripted", "demo"),
        ("scripted/fast", "scripted", "fast"),
    ]
    assert all(isinstance(model, Model) and model.kind == "llm" for model in listed)


def test_it_answers_no_more_than_an_endpoint_may(perform: Build) -> None:
    calls = perform("\n".join(["!script", *["call get_weather {}"] * 129]))
    assert str(calls.error) == "scripted sent too much: more than 128 tool calls"
    assert len(calls.calls) == 128
    words = perform("\n".join(["!script", *["repeat 3 " + "x" * 2**20] * 2]))
    assert str(words.error) == "scripted sent too much: an answer of more than 4194304 characters"
