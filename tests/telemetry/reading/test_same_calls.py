"""Two spans that report one call of a model: it counts once, with the words of the one and the numbers of the other."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from agents.record.schemas.content import text_of
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading.sample_spans import agent, model, span, user


def client(id_: str, answer: str = "msg_1", **more: Any) -> Span:
    """The span of a client library, without words."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m1",
        "gen_ai.response.id": answer,
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.time_to_first_chunk": 0.25,
    }
    return span(id_, attributes=attributes, scope="com.example.sdk", **more)


def framework(id_: str, answer: str = "msg_1", **more: Any) -> Span:
    """The span of what instruments the client, with words; of a streamed call without the tokens of its input."""
    counted = {"gen_ai.usage.input_tokens": 0, "gen_ai.response.id": answer}
    return model(id_, user("How warm?"), answer="18 degrees.", attributes=counted, **more)


def told(turns: list[ExternalTurn]) -> list[Any]:
    return [
        (
            [text_of(message.content) for message in turn.input],
            turn.output and turn.output.content,
            turn.traces,
            [(step.id, step.type, step.parent) for step in turn.steps],
            [(step.usage.input_tokens, step.ttft_us) for step in turn.steps if step.type == "inference" and step.usage],
        )
        for turn in turns
    ]


def answered(*traces: str, parent: str = "") -> list[Any]:
    """A turn with one call, and the other report of it below."""
    steps = [("words", "inference", parent), ("client", "other", "words")]
    return [(["How warm?"], "18 degrees.", traces, steps, [(30, 250_000)])]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_beside_each_other(order: tuple[int, ...]) -> None:
    spans = [agent(), framework("words", parent="agent", at=1, took=2), client("client", parent="agent", at=1.5)]
    assert told(build_turns(spans[position] for position in order)) == answered("t1")


def test_a_client_whose_spans_are_traces_of_their_own() -> None:
    spans = [
        agent(),
        framework("words", parent="agent", at=1, took=2),
        client("client", at=1.5, trace="t2"),
    ]
    expected = answered("t1", "t2")
    assert told(build_turns(spans)) == told(build_turns(spans[::-1])) == expected


def test_calls_without_an_agent_above() -> None:
    spans = [framework("words", at=1, took=2), client("client", at=1.5, trace="t2")]
    assert told(build_turns(spans)) == told(build_turns(spans[::-1])) == answered("t1", "t2")


def test_one_inside_the_other() -> None:
    outer = framework("outer", answer="", parent="agent", at=1, took=2)
    turns = build_turns([agent(), outer, client("inner", parent="outer", at=1.5)])
    steps = [("outer", "other", ""), ("inner", "inference", "outer")]
    assert told(turns) == [(["How warm?"], "18 degrees.", ("t1",), steps, [(30, 250_000)])]


def test_the_words_of_a_wrapper_of_several_calls_are_not_those_of_one() -> None:
    outer = framework("outer", answer="", parent="agent", took=5)
    inner = [client(name, name, parent="outer", at=at) for at, name in enumerate(("first", "second"))]
    (turn,) = build_turns([agent(), outer, *inner])
    assert [step.hidden for step in turn.steps if step.type == "inference"] == [True, True]


def test_a_fake_model_whose_answers_have_one_id() -> None:
    calls = [framework(f"call {at}", parent="agent", at=at * 3, took=1) for at in range(3)]
    (turn,) = build_turns([agent(), *calls])
    assert [step.type for step in turn.steps] == ["inference"] * 3
