"""Messages of every shape, read into one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.telemetry.reading.messages import messages_of

CALL = ("c1", "look", {"at": "map"})
SHAPES: dict[str, list[Any]] = {
    "Chat Completions": [
        {"role": "user", "content": "Where?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": {"at": "map"}}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "there"},
        {"role": "assistant", "content": [{"type": "text", "text": "It is there."}]},
    ],
    "OpenTelemetry": [
        {"role": "user", "parts": [{"type": "text", "content": "Where?"}], "name": None},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "map"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "there"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is there."}], "finish_reason": "stop"},
    ],
    "Pydantic AI": [
        {"role": "user", "parts": [{"type": "text", "content": "Where?"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look", "arguments": {"at": "map"}}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "look", "result": "there"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "It is there."}]},
    ],
    "Responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": {"at": "map"}},
        {"type": "function_call_output", "call_id": "c1", "output": "there"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is there."}]},
    ],
    "Anthropic": [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "map"}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "there"}]}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It is there."}]},
    ],
    "Bedrock": [
        {"role": "user", "content": [{"text": "Where?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {"at": "map"}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "there"}]}}]},
        {"role": "assistant", "content": '[{"text": "It is there."}]'},
    ],
    "Google": [
        {"role": "user", "parts": [{"text": "Where?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": {"at": "map"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": "there"}}]},
        {"role": "model", "parts": [{"text": "It is there."}]},
    ],
    "LangChain": [
        {"type": "human", "content": "Where?"},
        {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "look", "args": {"at": "map"}, "id": "c1"}]}},
        {"lc": 1, "id": ["x", "ToolMessage"], "kwargs": {"content": "there", "tool_call_id": "c1"}},
        {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {"content": "It is there."}},
    ],
    "the AI SDK": [
        {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"at": "map"}}],
        },
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "there"}}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It is there."}]},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shapes_say_the_same(shape: str) -> None:
    for value in (SHAPES[shape], json.dumps(SHAPES[shape]), {"messages": [SHAPES[shape]]}):
        messages = messages_of(value)
        assert [(message.role, message.text, message.answered_call) for message in messages] == [
            ("user", "Where?", ""),
            ("assistant", "", ""),
            ("tool", "there", "c1"),
            ("assistant", "It is there.", ""),
        ]
        assert [(call.id, call.name, call.arguments) for message in messages for call in message.calls] == [CALL]


def test_thoughts_are_no_words() -> None:
    parts = [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "Yes."}]
    (message,) = messages_of([{"role": "assistant", "parts": parts}])
    assert (message.text, message.reasoning) == ("Yes.", "Hm.")
    (message,) = messages_of([{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]}])
    assert (message.text, message.reasoning) == ("", "Hm.")


def test_a_text_that_only_looks_like_blocks_stays_one() -> None:
    (message,) = messages_of([{"role": "user", "content": '[{"id": 1}]'}])
    assert message.text == '[{"id": 1}]'


def test_unknown_parts_are_kept_by_name() -> None:
    (message,) = messages_of(
        [{"role": "user", "parts": [{"type": "hologram", "bytes": "…"}, {"type": "file", "file_id": "f1"}]}]
    )
    assert message.text == "[hologram]\n[file f1]"


def test_hidden_words_are_told_apart_from_none() -> None:
    hidden, empty = messages_of([{"role": "user"}, {"role": "user", "content": ""}])
    assert (hidden.hidden, empty.hidden) == (True, False)


def test_a_choice_says_why_it_ended() -> None:
    (message,) = messages_of(
        {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "So"}}]}
    )
    assert message.finish == "length"
