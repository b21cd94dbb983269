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


def frames(told: Sequence[Span]) -> bytes:
    """Reports of two spans each."""
    some = (told[start : start + 2] for start in range(0, len(told), 2))
    return b"".join(trace_worker.frame(msgspec.json.encode(one)) for one in some) + END


def asked(*traces: Sequence[Span]) -> Iterator[Any]:
    """The answers, as they come out of a pipe."""
    given = io.BytesIO(b"".join(map(frames, traces)) + END)
    return (trace_worker.decode_answer(answer[len(END) :]) for answer in trace_worker.answer_frames(given))


def read(answers: Iterator[Any]) -> tuple[ConversationLinks, list[ExternalTurn]]:
    told, found = next(answers), []
    while (head := next(answers)) is not None:
        steps = [step for _ in range(trace_worker.slice_count(len(head.steps))) for step in next(answers)]
        assert head.steps == [(step.id, step.started_us) for step in steps]
        found.append(replace(head.turn, steps=tuple(steps)))
    return told.links, found


def by_trace(told: Iterable[Span]) -> list[list[Span]]:
    found: dict[str, list[Span]] = {}
    for span in told:
        found.setdefault(span.trace, []).append(span)
    return list(found.values())


@pytest.mark.parametrize("name", captures.names())
def test_a_capture_read_apart_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_worker, "STEPS_PER_SLICE", 2)
    for told in by_trace(captures.spans(name)):
        assert read(asked(told)) == build_turns_and_links(told)


def test_so_is_one_with_the_others_of_its_conversation() -> None:
    first, *others = by_trace(captures.spans("openinference_openai__no-session"))
    answers = asked(first, *others)
    links, turns = read(answers)
    assert links == build_turns_and_links(first)[0]
    assert turns == build_turns_and_links([span for trace in (first, *others) for span in trace])[1]


def test_of_a_trace_without_end_the_rest_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_worker, "MAX_SPANS", 3)
    [told] = by_trace(captures.spans("openinference_openai__no-session"))[:1]
    answers = asked(told * 4)
    assert next(answers).spans == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=6))
def test_whatever_a_sender_says_is_the_same_read_apart(told: list[Span]) -> None:
    for some in by_trace(told):
        stored = trace_worker.first_spans([msgspec.json.encode(some)])
        assert read(asked(stored)) == build_turns_and_links(stored)
