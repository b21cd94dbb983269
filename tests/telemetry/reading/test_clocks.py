"""Spans of services whose clocks differ, by one clock."""

from __future__ import annotations

import random
from typing import Any

import pytest

from agents.telemetry.reading.clocks import by_callers_clock
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures
from tests.telemetry.reading.sample_spans import SECOND, START, agent, model, span, tool

A, B, C = ({"service.name": name} for name in "abc")
CLIENT, SERVER = 3, 2
HOUR = 3600.0


def moved(*spans: Span) -> dict[str, tuple[float, float]]:
    """Start and length in seconds of those that were moved."""
    found, names = by_callers_clock({span.id: span for span in spans})
    times = {name: (found[name].start_ns, found[name].end_ns) for name in names}
    return {name: ((start - START) / SECOND, (end - start) / SECOND) for name, (start, end) in times.items()}


def call(id_: str = "call", **more: Any) -> Span:
    return span(id_, **{"at": 10, "took": 4, "resource": A, "kind": CLIENT, **more})


def test_it_stands_in_the_middle_of_its_parent_with_all_below_it() -> None:
    served = span("served", parent="call", at=-HOUR, took=2, resource=B)
    inner = span("inner", parent="served", at=-HOUR + 0.5, took=1, resource=B)
    assert moved(call(), served, inner) == {"served": (11, 2), "inner": (11.5, 1)}


def test_one_that_takes_longer_or_still_goes_on_begins_with_its_parent() -> None:
    longer = span("served", parent="call", at=-HOUR, took=9, resource=B)
    assert moved(call(), longer) == {"served": (10, 9)}
    assert moved(call(took=None), longer) == {"served": (10, 9)}
    running, _ = by_callers_clock(
        {"call": call(), "on": span("on", parent="call", at=-HOUR, took=None, resource=B, events=[SpanEvent(name="e")])}
    )
    assert (running["on"].start_ns, running["on"].end_ns) == (START + 10 * SECOND, 0)
    assert running["on"].events[0].at_ns == 0


def test_a_third_service_has_the_clock_of_whom_it_agrees_with() -> None:
    served = span("served", parent="call", at=-HOUR, took=2, resource=B)
    by_our_clock = span("ours", parent="served", at=11.5, took=1, resource=C)
    by_its_clock = span("its", parent="served", at=-HOUR + 0.5, took=1, resource=C)
    assert moved(call(), served, by_our_clock, by_its_clock) == {"served": (11, 2), "its": (11.5, 1)}


@pytest.mark.parametrize(
    "later",
    [
        span("later", parent="call", at=HOUR, resource=A),  # of the same process
        span("later", parent="call", at=HOUR, resource=B, kind=5),  # a message is read
        span("later", parent="call", at=14.9, resource=B),  # within a second
        span("later", parent="other", at=-HOUR, resource=B),  # nobody knows of what
    ],
)
def test_what_can_be_so_stays(later: Span) -> None:
    spans = {"call": call(), "later": later}
    assert by_callers_clock(spans) == (spans, set())


def test_what_another_service_did_after_a_parent_that_awaits_nothing_stays() -> None:
    assert moved(call(kind=0), span("later", parent="call", at=HOUR, resource=B)) == {}
    assert moved(call(kind=4), span("later", parent="call", at=HOUR, resource=B, kind=SERVER)) == {}
    assert moved(call(kind=0), span("later", parent="call", at=HOUR, took=2, resource=B, kind=SERVER)) == {
        "later": (11, 2)
    }


def test_parents_that_form_a_cycle_and_moments_at_the_bounds_do_no_harm() -> None:
    cycle = [span("x", parent="y", at=HOUR, resource=A), span("y", parent="x", resource=B), span("z", parent="z")]
    by_callers_clock({one.id: one for one in [call(), *cycle]})
    far = Span(trace="t1", id="far", parent="call", start_ns=1, end_ns=2**63 - 1, resource=B)
    found, _ = by_callers_clock({"call": call(), "far": far})
    assert 0 <= found["far"].start_ns <= found["far"].end_ns < 2**63


def test_a_chain_of_ten_thousand_services_is_read() -> None:
    chain = [
        span(str(n), parent=str(n - 1) if n else "", at=-HOUR * n, took=20_000 - n, resource=A if n % 2 else B)
        for n in range(10_000)
    ]
    assert len(moved(*chain)) == 9_999


@pytest.mark.parametrize("name", captures.names())
def test_real_senders_have_one_clock(name: str) -> None:
    spans = {span.id: span for span in captures.spans(name)}
    assert by_callers_clock(spans) == (spans, set())


def test_a_turn_is_the_same_in_whatever_order_its_services_report() -> None:
    spans = [
        agent(took=20, resource=A),
        tool("t", parent="agent", at=9, took=6, resource=A, kind=CLIENT),
        span("served", parent="t", at=-HOUR, took=2, resource=B, kind=SERVER),
        model("m", answer="18", parent="served", at=-HOUR + 0.5, resource=B),
        model("n", answer="It is 18.", parent="agent", at=16, resource=A),
    ]
    turns = []
    for seed in range(5):
        random.Random(seed).shuffle(spans)
        turns += build_turns(spans)
    assert all(turn == turns[0] for turn in turns)
    assert [step.id for step in turns[0].steps] == ["t", "m", "n"]
    assert turns[0].ended_us is not None
    assert turns[0].ended_us - turns[0].started_us == 20_000_000
    assert turns[0].output is not None
    assert turns[0].output.content == "It is 18."
