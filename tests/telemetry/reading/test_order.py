"""Order, requests and repeats do not matter: exporters send children first, and twice when nobody answers."""

from __future__ import annotations

import random
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.telemetry.reading.conversation_links import links_of
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.turns import build_turns
from tests.telemetry.reading import captures

_spans = cache(captures.spans)


@cache
def _turns(name: str) -> tuple[ExternalTurn, ...]:
    return tuple(build_turns(_spans(name)))


def _again(span: Span, chance: random.Random) -> list[Span]:
    """A span as it may come: whole, twice, or begun first and ended later."""
    begun = msgspec.structs.replace(span, end_ns=0, failed=False, message="", attributes={}, events=[])
    return chance.choice([[span], [span, msgspec.structs.replace(span)], [begun, span], [span, begun]])


@pytest.mark.parametrize("name", captures.names())
@settings(max_examples=4, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_shuffled_and_doubled_spans_give_the_same_turns(name: str, chance: random.Random) -> None:
    spans = [one for span in _spans(name) for one in _again(span, chance)]
    chance.shuffle(spans)
    assert tuple(build_turns(spans)) == _turns(name)


@pytest.mark.parametrize("name", captures.names())
def test_a_turns_id_stays_while_its_spans_come(name: str) -> None:
    """Each trace for itself, its spans in the order they ended: children before their parents."""
    traces: dict[str, list[Span]] = {}
    for span in sorted(_spans(name), key=lambda span: (span.end_ns, span.id)):
        traces.setdefault(span.trace, []).append(span)
    for spans in traces.values():
        final = {turn.id for turn in build_turns(spans)}
        if len(final) == 1:
            assert {turn.id for count in range(1, len(spans)) for turn in build_turns(spans[:count])} <= final


@pytest.mark.parametrize("name", captures.names())
def test_links_do_not_hang_on_order(name: str) -> None:
    traces: dict[str, list[Span]] = {}
    for span in _spans(name):
        traces.setdefault(span.trace, []).append(span)
    for spans in traces.values():
        assert links_of(spans) == links_of([*spans[::-1], *spans])
