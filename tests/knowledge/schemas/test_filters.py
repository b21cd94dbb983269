"""Filters of a file search: what they let through, and what is no filter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base.errors import InvalidRequest
from agents.knowledge.schemas import filters
from agents.knowledge.schemas.filters import CompoundFilter

BLUE = {"colour": "blue", "year": 2024, "price": 9.5, "sold": False, "on": "2024-05-01"}


def compare(kind: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


def lets_through(given: Any, attributes: dict[str, Any] = BLUE) -> bool:
    parsed = filters.parse(given)
    assert parsed is not None
    return parsed.matches(attributes)


@pytest.mark.parametrize(
    ("kind", "key", "value", "found"),
    [
        ("eq", "colour", "blue", True),
        ("eq", "colour", "Blue", False),
        ("eq", "year", 2024.0, True),
        ("eq", "year", "2024", False),
        ("eq", "sold", False, True),
        ("eq", "sold", 0, False),
        ("ne", "colour", "red", True),
        ("ne", "colour", "blue", False),
        ("ne", "sold", 0, True),
        ("gt", "year", 2023, True),
        ("gt", "year", 2024, False),
        ("gte", "year", 2024, True),
        ("lt", "price", 10, True),
        ("lte", "price", 9.5, True),
        ("lt", "on", "2024-06-01", True),
        ("gt", "on", "2024-06-01", False),
        ("gt", "year", "2000", False),
        ("lt", "colour", 5, False),
        ("in", "colour", ["red", "blue"], True),
        ("in", "colour", [], False),
        ("in", "sold", [0, 1], False),
        ("nin", "year", [2023, 2025], True),
        ("nin", "year", [2024], False),
        ("eq", "absent", "x", False),
        ("ne", "absent", "x", True),
        ("lte", "absent", 5, False),
        ("in", "absent", ["x"], False),
        ("nin", "absent", ["x"], True),
    ],
)
def test_comparisons(kind: str, key: str, value: Any, found: bool) -> None:
    assert lets_through(compare(kind, key, value)) is found


YES, NO = compare("eq", "colour", "blue"), compare("eq", "colour", "red")


def both(*inner: Any) -> dict[str, Any]:
    return {"type": "and", "filters": list(inner)}


def either(*inner: Any) -> dict[str, Any]:
    return {"type": "or", "filters": list(inner)}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (both(YES, YES), True),
        (both(YES, NO), False),
        (either(YES, NO), True),
        (either(NO, NO), False),
        (both(), True),
        (either(), False),
        (both(YES, either(NO, both(YES))), True),
        (either(NO, both(YES, either(NO))), False),
    ],
)
def test_compounds(given: Any, found: bool) -> None:
    assert lets_through(given) is found


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_filter(nothing: Any) -> None:
    assert filters.parse(nothing) is None


def nested(depth: int) -> Any:
    return both(nested(depth - 1)) if depth else YES


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([], "filters"),
        ("x", "filters"),
        ({"type": "near"}, "filters.type"),
        ({"type": ["eq"]}, "filters.type"),
        ({"key": "a", "value": 1}, "filters.type"),
        ({"type": "eq", "value": 1}, "filters.key"),
        ({"type": "eq", "key": "", "value": 1}, "filters.key"),
        ({"type": "eq", "key": 1, "value": 1}, "filters.key"),
        ({"type": "eq", "key": "a"}, "filters.value"),
        (compare("eq", "a", None), "filters.value"),
        (compare("eq", "a", [1]), "filters.value"),
        (compare("in", "a", 1), "filters.value"),
        (compare("in", "a", [[]]), "filters.value"),
        (compare("in", "a", [1] * 501), "filters.value"),
        (compare("gt", "a", True), "filters.value"),
        ({"type": "and"}, "filters.filters"),
        ({"type": "or", "filters": {}}, "filters.filters"),
        (both(YES, both({"type": "eq"})), "filters.filters.1.filters.0.key"),
        (both(*[YES] * 501), "filters"),
        (both(both(*[YES] * 300), both(*[YES] * 300)), "filters"),
        (nested(17), "filters" + ".filters.0" * 16),
    ],
)
def test_what_is_no_filter_is_named(given: Any, place: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        filters.parse(given)
    assert refused.value.param == place
    assert refused.value.message.startswith(place)


def test_as_deep_as_may_be() -> None:
    assert lets_through(nested(16))


SCALARS = st.one_of(st.text(max_size=3), st.integers(-2, 2), st.floats(-2, 2), st.booleans())


@given(ours=SCALARS, theirs=SCALARS)
def test_opposites_are_opposite(ours: Any, theirs: Any) -> None:
    def holds(kind: str, value: Any) -> bool:
        return lets_through(compare(kind, "a", value), {"a": ours})

    assert holds("eq", theirs) is not holds("ne", theirs)
    assert holds("in", [theirs]) is not holds("nin", [theirs])
    assert holds("eq", theirs) is holds("in", [theirs])
    if not isinstance(theirs, bool):
        comparable = isinstance(ours, str) is isinstance(theirs, str) and not isinstance(ours, bool)
        assert (holds("lt", theirs) + holds("gte", theirs)) == comparable
        assert (holds("gt", theirs) + holds("lte", theirs)) == comparable


def test_parsed_filters_are_values() -> None:
    assert filters.parse(both(YES)) == filters.parse(both(YES))
    assert isinstance(filters.parse(both(YES)), CompoundFilter)
