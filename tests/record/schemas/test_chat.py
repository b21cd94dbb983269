"""A history in which each call has its answer and each answer its call."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agents.record.schemas.chat import messages_of_row, paired_history


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def calls(*names: str, content: str = "") -> dict[str, Any]:
    made = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in names]
    return {"role": "assistant", "content": content, "tool_calls": made}


def answer(name: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": "seen"}


def told(*messages: dict[str, Any], answered: Any = ()) -> list[dict[str, Any]]:
    rows = [json.dumps(message, separators=(",", ":")).encode() for message in messages]
    return [json.loads(message) for message in paired_history(rows, answered)]


def test_whole_pairs_stay_as_they_are() -> None:
    whole = [user("a"), calls("1", "2"), answer("2"), answer("1"), calls("1", content="again"), answer("1")]
    assert told(*whole) == whole


def test_half_a_pair_goes() -> None:
    assert told(user("a"), calls("1"), user("b")) == [user("a"), user("b")]
    assert told(user("a"), answer("1"), user("b")) == [user("a"), user("b")]
    assert told(calls("1", "2"), answer("2")) == [calls("2"), answer("2")]
    said = {"role": "assistant", "content": "Let me look."}
    assert told(calls("1", content="Let me look.")) == [said]


def test_a_call_whose_answer_is_still_to_come_stays() -> None:
    assert told(calls("1", "2"), answered={"1"}) == [calls("1")]
    assert told(calls("1"), answer("1"), calls("2"), answered={"2"}) == [calls("1"), answer("1"), calls("2")]


def test_of_two_calls_of_one_name_the_later_is_answered() -> None:
    assert told(calls("1", content="first"), calls("1", content="second"), answer("1")) == [
        {"role": "assistant", "content": "first"},
        calls("1", content="second"),
        answer("1"),
    ]


def test_an_answer_stands_right_behind_its_call() -> None:
    mixed = [calls("1"), user("a"), answer("1"), calls("2", "3"), user("b"), answer("3"), user("c"), answer("2")]
    assert told(*mixed) == [
        calls("1"),
        answer("1"),
        user("a"),
        calls("2", "3"),
        answer("3"),
        answer("2"),
        user("b"),
        user("c"),
    ]


def test_words_that_look_like_calls_are_words() -> None:
    odd = user('"tool_calls" {"role":"tool"')
    assert told(odd) == [odd]
    assert messages_of_row(json.dumps(odd).encode()) == [json.dumps(odd).encode()]


def test_a_row_may_be_several_messages() -> None:
    one, two = (json.dumps(message, separators=(",", ":")).encode() for message in (calls("1"), answer("1")))
    assert messages_of_row(one + b"," + two) == [one, two]
    assert messages_of_row(one) == [one]


LONG = 50_000
"""Messages of one request, of the size that a server takes: compared one with another, they take hours."""


def test_a_long_history_is_paired() -> None:
    asked, answers = [[one(f"{number}") for number in range(LONG)] for one in (calls, answer)]
    assert told(*asked) == []
    assert told(*asked, *answers) == [one for pair in zip(asked, answers, strict=True) for one in pair]


MESSAGES = st.one_of(
    st.builds(user, st.text(max_size=5)),
    st.builds(calls, st.sampled_from("abc"), st.sampled_from("def"), content=st.sampled_from(["", "x"])),
    st.builds(answer, st.sampled_from("abcdef")),
)


@given(st.lists(MESSAGES, max_size=12))
def test_whatever_was_taken_out_the_rest_is_whole(messages: list[dict[str, Any]]) -> None:
    rest = told(*messages)
    waiting: list[str] = []
    for message in rest:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        waiting += [call["id"] for call in message.get("tool_calls", ())]
    assert not waiting
    assert told(*rest) == rest
    assert [one for one in rest if one["role"] == "user"] == [one for one in messages if one["role"] == "user"]
