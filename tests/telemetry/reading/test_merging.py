"""Reports of one span are united to the same, whatever their order and however often each came."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.telemetry.reading.merging import merge
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink
from tests.telemetry.reading import captures

texts = st.text(max_size=3)
leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1, width=16) | texts
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2))
names = st.sampled_from(["inputs", "outputs", "extra"])
objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(names, values, max_size=3)
times = st.integers(0, 3)
events = st.lists(st.builds(SpanEvent, name=texts, at_ns=times, attributes=objects), max_size=3)
spans = st.builds(
    Span,
    trace=st.just("t"),
    id=st.just("s"),
    parent=texts,
    name=texts,
    start_ns=times,
    end_ns=times,
    failed=st.booleans(),
    message=texts,
    kind=times,
    attributes=objects,
    events=events,
    resource=objects,
    scope=texts,
    dropped=times,
    is_log=st.booleans(),
    links=st.lists(st.builds(SpanLink, trace=texts, span=texts, attributes=objects), max_size=2),
)


def encoded(span: Span) -> bytes:
    return msgspec.json.encode(span, order="deterministic")


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_it_is_the_same_in_any_order_and_however_often(reports: list[Span], chance: random.Random) -> None:
    merged = reduce(merge, reports)
    again = [*reports, *reports]
    chance.shuffle(again)
    half = len(again) // 2
    assert encoded(reduce(merge, again)) == encoded(merged)
    assert encoded(merge(reduce(merge, again[:half]), reduce(merge, again[half:]))) == encoded(merged)
    assert encoded(merge(merged, merged)) == encoded(merged)


@pytest.mark.parametrize(("one", "other"), [(True, 1), (False, 0), (0.0, 0), ([1], [True]), ({"a": 1}, {"a": True})])
def test_values_that_only_python_takes_for_equal_are_told_apart(one: Any, other: Any) -> None:
    first, second = (
        Span(trace="t", id="s", attributes={"a": value}, events=[SpanEvent(name="e", attributes={"a": value})])
        for value in (one, other)
    )
    assert encoded(merge(first, second)) == encoded(merge(second, first))


@pytest.mark.parametrize("name", captures.names())
def test_a_report_that_comes_twice_changes_nothing(name: str) -> None:
    for span in captures.spans(name):
        copy = msgspec.convert(msgspec.to_builtins(span), Span)
        assert merge(span, copy) == span


def test_a_log_record_adds_its_events_and_nothing_else() -> None:
    span = Span(trace="t", id="s", name="chat", scope="spans", end_ns=9, events=[SpanEvent(name="b", at_ns=2)])
    record = Span(trace="t", id="s", scope="a longer one", is_log=True, events=[SpanEvent(name="a", at_ns=1)])
    merged = merge(record, span)
    assert merged == merge(span, record)
    assert (merged.name, merged.scope, merged.is_log) == ("chat", "spans", False)
    assert [event.name for event in merged.events] == ["a", "b"]


def test_records_without_their_span_stay_records() -> None:
    record = Span(trace="t", id="s", is_log=True, events=[SpanEvent(name="a")])
    other = Span(trace="t", id="s", is_log=True, events=[SpanEvent(name="b")])
    assert merge(record, other) == Span(trace="t", id="s", is_log=True, events=[*record.events, *other.events])


def test_what_is_known_beats_what_is_not() -> None:
    begun = Span(trace="t", id="s", parent="p", name="run", start_ns=5, attributes={"inputs": {"q": 1}, "error": None})
    ended = Span(trace="t", id="s", start_ns=7, end_ns=9, failed=True, attributes={"outputs": [1], "inputs": {"k": 2}})
    merged = merge(begun, ended)
    assert (merged.parent, merged.name, merged.start_ns, merged.end_ns, merged.failed) == ("p", "run", 5, 9, True)
    assert merged.attributes == {"inputs": {"q": 1, "k": 2}, "outputs": [1], "error": None}
