"""A trace that is read by a process of its own comes to the same as one that is read here."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agents.telemetry.reading import trace_worker
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns_and_links
from tests.telemetry.reading import captures
from tests.telemetry.reading.test_hostile_spans import spans

END = trace_worker.frame(b"")


def frames(spans: Sequence[Span]) -> bytes:
    """Reports of two spans each."""
    batches = (spans[start : start + 2] for start in range(0, len(spans), 2))
    return b"".join(trace_worker.frame(msgspec.json.encode(batch)) for batch in batches) + END


def answers_of(*traces: Sequence[Span]) -> Iterator[Any]:
    """The answers, as they come out of a pipe."""
    stream = io.BytesIO(b"".join(map(frames, traces)) + END)
    return (trace_worker.decode_answer(answer[len(END) :]) for answer in trace_worker.answer_frames(stream))


def read(answers: Iterator[Any]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    summary, turns = next(answers), []
    while (head := next(answers)) is not None:
        steps = [step for _ in range(trace_worker.slice_count(len(head.steps))) for step in next(answers)]
        assert head.steps == [(step.id, step.started_us) for step in steps]
        turns.append(replace(head.turn, steps=tuple(steps)))
    return summary.links, turns


def by_trace(spans: Iterable[Span]) -> list[list[Span]]:
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    return list(traces.values())


@pytest.mark.parametrize("name", captures.names())
def test_a_capture_read_apart_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_worker, "STEPS_PER_SLICE", 2)
    for trace_spans in by_trace(captures.spans(name)):
        assert read(answers_of(trace_spans)) == build_turns_and_links(trace_spans)


def test_so_is_one_with_the_others_of_its_conversation() -> None:
    first, *others = by_trace(captures.spans("openinference_openai__no-session"))
    answers = answers_of(first, *others)
    links, turns = read(answers)
    assert links == build_turns_and_links(first)[0]
    assert turns == build_turns_and_links([span for trace in (first, *others) for span in trace])[1]


def test_of_a_trace_without_end_the_rest_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_worker, "MAX_SPANS", 3)
    [trace_spans] = by_trace(captures.spans("openinference_openai__no-session"))[:1]
    answers = answers_of(trace_spans * 4)
    assert next(answers).spans == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=6))
def test_whatever_a_sender_says_is_the_same_read_apart(told: list[Span]) -> None:
    for trace_spans in by_trace(told):
        stored = trace_worker.first_spans([msgspec.json.encode(trace_spans)])
        assert read(answers_of(stored)) == build_turns_and_links(stored)
