"""A trace that is read by a process of its own comes to the same as one that is read here."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.store import encoding
from agents.telemetry.reading import batch_worker, stored_spans, trace_worker
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.prepared_turns import PreparedTurn, prepare_turns, with_steps
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.stored_spans import first_spans, format_of
from agents.telemetry.reading.turn_warnings import trace_truncated
from agents.telemetry.reading.turns import build_turns_and_links
from agents.telemetry.reading.worker_frames import (
    END,
    ReadFailure,
    ReadTrace,
    SmallTrace,
    answer_frame,
    batch_frame,
    decode_answer,
    frame,
)
from tests.telemetry.reading import captures
from tests.telemetry.reading.test_hostile_spans import spans


def frames(spans: Sequence[Span]) -> bytes:
    """Reports of two spans each."""
    batches = (spans[start : start + 2] for start in range(0, len(spans), 2))
    return b"".join(frame(msgspec.json.encode(batch)) for batch in batches) + END


def answers_of(*traces: Sequence[Span]) -> Iterator[Any]:
    """The answers, as they come out of a pipe."""
    stream = io.BytesIO(frame(str(len(traces[0])).encode()) + b"".join(map(frames, traces)) + END)
    return (decode_answer(answer_frame(answer)[len(END) :]) for answer in trace_worker.answers(stream))


def read(answers: Iterator[Any]) -> tuple[ConversationLinks, list[PreparedTurn]]:
    summary, turns = next(answers), []
    while (head := next(answers)) is not None:
        steps = [step for _ in range(trace_worker.slice_count(len(head.steps))) for step in next(answers)]
        assert head.steps == [(step.id, step.started_us) for step in steps]
        turns.append(with_steps(head.turn, steps))
    return summary.links, turns


def read_here(trace: Sequence[Span], *others: Sequence[Span]) -> tuple[ConversationLinks, list[PreparedTurn]]:
    links, records = build_turns_and_links(trace)
    if others:
        _, records = build_turns_and_links([span for spans in (trace, *others) for span in spans])
    return links, prepare_turns(records, format_of(list(trace)), len(trace), len(trace))


def read_in_batch(*traces: Sequence[Span]) -> list[ReadTrace | ReadFailure]:
    """What the worker for small traces answers, as it comes out of a pipe."""
    stored = [SmallTrace([encoding.pack(msgspec.json.encode(list(trace)))], len(trace)) for trace in traces]
    stream = io.BytesIO(batch_frame(stored[:1]) + batch_frame(stored[1:]) if stored[1:] else batch_frame(stored))
    answers: Any = [decode_answer(answer[len(END) :]) for answer in batch_worker.answers(stream)]
    return list(answers)


def by_trace(spans: Iterable[Span]) -> list[list[Span]]:
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    return list(traces.values())


@pytest.mark.parametrize("name", captures.names())
def test_a_capture_read_apart_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_worker, "STEPS_PER_SLICE", 2)
    for trace_spans in by_trace(captures.spans(name)):
        assert read(answers_of(trace_spans)) == read_here(trace_spans)
    traces = by_trace(captures.spans(name))
    assert read_in_batch(*traces) == [ReadTrace(*read_here(trace), len(trace)) for trace in traces]


def test_so_is_one_with_the_others_of_its_conversation() -> None:
    first, *others = by_trace(captures.spans("openinference_openai__no-session"))
    answers = answers_of(first, *others)
    assert read(answers) == read_here(first, *others)


def test_of_a_trace_without_end_the_rest_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_spans, "MAX_SPANS", 3)
    [trace_spans] = by_trace(captures.spans("openinference_openai__no-session"))[:1]
    _, [turn] = read(answers_of(trace_spans * 4))
    assert trace_truncated(3) in "".join(map(str, turn.body))


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=6))
def test_whatever_a_sender_says_is_the_same_read_apart(told: list[Span]) -> None:
    for trace_spans in by_trace(told):
        stored = first_spans([msgspec.json.encode(trace_spans)])
        assert read(answers_of(stored)) == read_here(stored)
        assert read_in_batch(stored) == [ReadTrace(*read_here(stored), len(stored))]


def test_one_that_cannot_be_read_holds_up_no_other() -> None:
    good, other = by_trace(captures.spans("openinference_openai__no-session"))[:2]
    bad_body = SmallTrace([(encoding.PLAIN, b"no spans")], 1)
    stored = [SmallTrace([encoding.pack(msgspec.json.encode(trace))], len(trace)) for trace in (good, other)]
    stream = io.BytesIO(batch_frame([stored[0], bad_body, stored[1]]))
    kinds = [type(decode_answer(answer[len(END) :])) for answer in batch_worker.answers(stream)]
    assert kinds == [ReadTrace, ReadFailure, ReadTrace]
