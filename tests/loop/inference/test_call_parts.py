"""Fragments of tool calls from endpoints that each tell them apart in their own way."""

from __future__ import annotations

from itertools import count

import pytest

from agents.loop.inference.base import CallPart
from agents.loop.inference.chat.call_parts import MAX_CALLS, FragmentSorter, TooManyCalls, random_call_id

Fragment = tuple[int | None, str, str, str]


def ordered(*fragments: Fragment) -> list[CallPart]:
    numbers = count()
    order = FragmentSorter(lambda: f"own{next(numbers)}")
    parts = [order.add(*fragment) for fragment in fragments]
    return [part for part in parts if part] + order.unnamed_calls()


@pytest.mark.parametrize(
    "fragments",
    [
        [(0, "a", "f", ""), (0, "", "", "{"), (1, "b", "g", ""), (0, "", "", "}"), (1, "", "", "{}")],
        # the id and name repeated every time
        [(0, "a", "f", ""), (0, "a", "f", "{"), (1, "b", "g", ""), (0, "a", "f", "}"), (1, "b", "g", "{}")],
        # one index for all
        [(0, "a", "f", ""), (0, "a", "", "{"), (0, "b", "g", ""), (0, "a", "", "}"), (0, "b", "", "{}")],
        # no index at all
        [(None, "a", "f", ""), (None, "a", "", "{"), (None, "b", "g", ""), (None, "a", "", "}"), (None, "b", "", "{}")],
        # indices that begin anywhere
        [(7, "a", "f", ""), (7, "", "", "{"), (-3, "b", "g", ""), (7, "", "", "}"), (-3, "", "", "{}")],
    ],
)
def test_it_tells_parallel_calls_apart(fragments: list[Fragment]) -> None:
    assert ordered(*fragments) == [
        CallPart(0, "", "a", "f"),
        CallPart(0, "{"),
        CallPart(1, "", "b", "g"),
        CallPart(0, "}"),
        CallPart(1, "{}"),
    ]


def test_it_takes_whole_calls_without_index_and_id_for_several() -> None:
    parts = ordered((None, "", "f", "{}"), (None, "", "g", "{}"))
    assert parts == [CallPart(0, "{}", "own0", "f"), CallPart(1, "{}", "own1", "g")]


def test_it_goes_on_with_the_latest_call_where_nothing_is_said() -> None:
    assert ordered((None, "a", "f", "{"), (None, "", "", "}")) == [CallPart(0, "{", "a", "f"), CallPart(0, "}")]


def test_it_mints_an_id_that_is_missing_or_useless() -> None:
    parts = ordered((0, "", "f", ""), (1, "x" * 201, "g", ""), (2, "same", "h", ""), (3, "same", "i", ""))
    assert [part.call_id for part in parts] == ["own0", "own1", "same", "own2"]


def test_it_keeps_to_the_id_it_minted_when_a_late_one_comes() -> None:
    assert ordered((0, "", "f", "{"), (0, "late", "", "}")) == [CallPart(0, "{", "own0", "f"), CallPart(0, "}")]


def test_it_holds_a_call_back_until_its_name_comes() -> None:
    assert ordered((0, "a", "", "{"), (0, "", "f", "}"), (0, "", "", " ")) == [
        CallPart(0, "{}", "a", "f"),
        CallPart(0, " "),
    ]


def test_it_hands_out_a_call_that_never_got_a_name() -> None:
    assert ordered((0, "a", "", "{}")) == [CallPart(0, "{}", "a", "")]


def test_it_refuses_calls_without_end() -> None:
    fragments: list[Fragment] = [(place, "", "f", "") for place in range(MAX_CALLS)]
    assert len(ordered(*fragments)) == MAX_CALLS
    with pytest.raises(TooManyCalls):
        ordered(*fragments, (MAX_CALLS, "", "f", ""))


def test_its_own_ids_differ() -> None:
    assert len({random_call_id() for _ in range(100)}) == 100
