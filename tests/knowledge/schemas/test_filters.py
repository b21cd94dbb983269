"""Filters of a file search: what is one, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.knowledge.schemas import filters
from agents.knowledge.schemas.filters import CompoundFilter


def compare(kind: str, key: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "key": key, "value": value}


YES = compare("eq", "colour", "blue")


def both(*inner: Any) -> dict[str, Any]:
    return {"type": "and", "filters": list(inner)}


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
        (both(compare("in", "a", [1] * 300), compare("nin", "a", [1] * 300)), "filters"),
        (nested(17), "filters" + ".filters.0" * 16),
    ],
)
def test_what_is_no_filter_is_named(given: Any, place: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        filters.parse(given)
    assert refused.value.param == place
    assert refused.value.message.startswith(place)


def test_as_deep_and_as_many_as_may_be() -> None:
    assert isinstance(filters.parse(nested(16)), CompoundFilter)
    assert isinstance(filters.parse(both(*[YES] * 500)), CompoundFilter)


def test_parsed_filters_are_values() -> None:
    assert filters.parse(both(YES)) == filters.parse(both(YES))
    assert isinstance(filters.parse(both(YES)), CompoundFilter)
