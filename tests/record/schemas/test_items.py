"""Items: messages as bytes, and how a history of them is sent."""

from __future__ import annotations

import json

from agents.record.schemas.items import encode, joined_calls


def call(name: str, content: str = "") -> bytes:
    made = {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return encode({"role": "assistant", "content": content, "tool_calls": [made]})


def said(role: str, content: str) -> bytes:
    return encode({"role": role, "content": content})


def test_the_calls_of_a_round_are_one_message_with_what_was_said() -> None:
    joined = joined_calls([said("user", "a"), said("assistant", "Let me look."), call("1"), call("2", "And here.")])
    assert joined[0] == said("user", "a")
    [message] = map(json.loads, joined[1:])
    assert message["content"] == "Let me look.\nAnd here."
    assert [one["id"] for one in message["tool_calls"]] == ["1", "2"]


def test_rounds_stay_apart() -> None:
    answer = encode({"role": "tool", "tool_call_id": "1", "content": "seen"})
    rounds = [call("1"), answer, call("2"), said("assistant", "Done."), said("assistant", "Really.")]
    assert joined_calls(rounds) == rounds


def test_a_round_of_very_many_calls_is_one_message() -> None:
    """Joined one by one, they take hours."""
    [message] = joined_calls([call(f"{number}") for number in range(50_000)])
    assert len(json.loads(message)["tool_calls"]) == 50_000
