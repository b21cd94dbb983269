"""The body of a chat-completions call."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agents.base.errors import InvalidRequest
from agents.loop.inference.base import InferenceRequest
from agents.loop.inference.chat.request import encode
from agents.record.schemas.content import (
    GrammarFormat,
    JsonSchemaFormat,
    SamplingParams,
    ToolDef,
    ToolParameter,
    TopKStrategy,
    TopPStrategy,
)

TOOL = ToolDef(name="f", description="does f", parameters=[ToolParameter(name="x", parameter_type="int")])


def body(*messages: bytes, **more: Any) -> Any:
    return msgspec.json.decode(encode(InferenceRequest("m", messages, **more)))


def test_it_asks_for_a_stream_with_usage() -> None:
    assert body(b'{"role":"user"}', b'{"role":"tool"}') == {
        "model": "m",
        "messages": [{"role": "user"}, {"role": "tool"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
    }


def test_it_sends_messages_byte_by_byte_as_they_are() -> None:
    messages = [b'{"role": "user",  "content":"\\u00e9"}', b"not even json"]
    assert b'"messages":[' + b",".join(messages) + b"]," in encode(InferenceRequest("m", messages))


def test_it_sends_no_messages_as_an_empty_list() -> None:
    assert body()["messages"] == []


@pytest.mark.parametrize(
    ("sampling", "options"),
    [
        (SamplingParams(), {"temperature": 0}),
        (SamplingParams(strategy=TopPStrategy(temperature=0.7, top_p=0.9)), {"temperature": 0.7, "top_p": 0.9}),
        (SamplingParams(strategy=TopPStrategy(temperature=None, top_p=None)), {}),
        (SamplingParams(strategy=TopKStrategy(top_k=4)), {"top_k": 4}),
        (SamplingParams(max_tokens=12), {"temperature": 0, "max_tokens": 12}),
        (SamplingParams(max_tokens=None, repetition_penalty=None, stop=[]), {"temperature": 0}),
        (
            SamplingParams(repetition_penalty=1.1, stop=["\n"]),
            {"temperature": 0, "repetition_penalty": 1.1, "stop": ["\n"]},
        ),
    ],
)
def test_it_sends_the_sampling(sampling: SamplingParams, options: dict[str, Any]) -> None:
    sent = body(sampling=sampling)
    for name in ("model", "messages", "stream", "stream_options"):
        del sent[name]
    assert sent == options


def test_it_describes_the_tools() -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "integer", "description": ""}}, "required": ["x"]}
    sent = body(tools=[TOOL])
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "does f", "parameters": parameters}}
    ]
    assert "tool_choice" not in sent


@pytest.mark.parametrize(
    ("choice", "sent"),
    [("required", "required"), ("f", {"type": "function", "function": {"name": "f"}}), ("auto", None)],
)
def test_it_sends_the_tool_choice(choice: str, sent: Any) -> None:
    assert body(tools=[TOOL], tool_choice=choice).get("tool_choice") == sent


@pytest.mark.parametrize("more", [{"tools": [TOOL], "tool_choice": "none"}, {"tool_choice": "required"}])
def test_it_hides_tools_that_must_not_or_cannot_be_called(more: dict[str, Any]) -> None:
    assert body(**more).keys().isdisjoint({"tools", "tool_choice"})


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Answer", "Answer"),
        ("Liste der Städte", "Liste_der_St_dte"),
        ("x" * 99, "x" * 64),
        ("!!", "response"),
        (7, "response"),
    ],
)
def test_it_names_a_schema_after_its_title(title: Any, name: str) -> None:
    schema = {"title": title, "type": "object"}
    sent = body(response_format=JsonSchemaFormat(json_schema=schema))["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}


def test_it_passes_a_grammar_on() -> None:
    sent = body(response_format=GrammarFormat(bnf={"root": "x"}))["response_format"]
    assert sent == {"type": "grammar", "grammar": {"root": "x"}}


def test_it_names_the_limit_as_the_endpoint_wants_it() -> None:
    request = InferenceRequest("m", (), sampling=SamplingParams(max_tokens=7))
    sent = msgspec.json.decode(encode(request, "max_completion_tokens"))
    assert (sent["max_completion_tokens"], "max_tokens" in sent) == (7, False)


def test_it_refuses_what_cannot_be_written() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for schema in ({"x": deep}, {"x": "\ud83d"}):
        with pytest.raises(InvalidRequest, match="cannot be written"):
            body(response_format=JsonSchemaFormat.model_construct(json_schema=schema))
