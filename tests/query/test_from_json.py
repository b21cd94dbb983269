"""The tree as JSON: the same language, the same rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agents.base.errors import QuerySyntax
from agents.query.parser import from_json
from agents.query.tree import MAX_DEPTH, Query


def term(field: str, value: Any, op: str = "=") -> dict[str, Any]:
    return {"kind": "term", "field": field, "op": op, "value": value}


def whole(text: str) -> dict[str, Any]:
    return {"kind": "whole", "text": text}


def load(data: Any, noon: int) -> Query:
    return from_json(data, now_us=noon)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "status:failed agent:web* -tokens:1k..5k",
        'refund* OR "a b" OR in:=x OR server_side:true',
        'meta."a b".[0].c:x no(step)(has:tool started:-24h)',
        "cost:>$0.05 duration:<=250ms ended:2026-11-20T10:00..11:00",
    ],
)
def test_a_tree_comes_back_from_json(read: Callable[..., Query], noon: int, text: str) -> None:
    query = read(text)
    dumped = json.loads(json.dumps(query.tree.model_dump(mode="json")))
    assert load(dumped, noon) == query
    assert load(query.tree.model_dump(), noon) == query


def test_it_needs_no_more_than_what_was_meant(noon: int) -> None:
    data = {
        "kind": "and",
        "nodes": [
            term("status", whole("error")),
            term("started", {"kind": "period", "text": "-24h"}, ">"),
            term("ended", {"kind": "period", "low_us": noon, "high_us": noon + 10}),
            term("duration", {"kind": "number", "value": 2_000_000, "unit": "us"}, ">"),
            {"kind": "not", "node": {"kind": "text", "words": {"text": "refund policy"}}},
            {"kind": "scope", "level": "step", "node": {"kind": "term", "field": "tool", "op": "has"}},
        ],
    }
    assert load(data, noon).text == (
        "status:failed started:>-24h ended:2026-11-20T12:00:00Z..2026-11-20T12:00:00.000009Z"
        ' duration:>2s -"refund policy" step(has:tool)'
    )


def test_it_makes_a_tree_canonical(noon: int, read: Callable[..., Query]) -> None:
    a, b = ({"kind": "text", "words": {"text": word}} for word in "ab")
    nested = {"kind": "and", "nodes": [{"kind": "and", "nodes": [a]}, {"kind": "or", "nodes": [b]}, a]}
    assert load({"kind": "not", "node": {"kind": "not", "node": nested}}, noon) == read("a b")


def nest(levels: int, node: Any) -> Any:
    for _ in range(levels):
        node = {
            "kind": "not",
            "node": {"kind": "or", "nodes": [node, term("tag", whole("x")), {"kind": "text", "words": {"text": "y"}}]},
        }
    return node


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "status:failed",
        {},
        {"kind": "xor", "nodes": []},
        {"kind": "and", "nodes": [{"kind": "and", "nodes": []}, {"kind": "not", "node": {"kind": "and", "nodes": []}}]},
        {"kind": "or", "nodes": []},
        {"kind": "text", "words": {"text": "!!!"}},
        {"kind": "text", "words": {"text": "a\ud800"}},
        {"kind": "text", "words": {"text": "a\x00b"}},
        {"kind": "scope", "level": "item", "node": {"kind": "text", "words": {"text": "a"}}},
        {"kind": "count", "level": "step", "node": {"kind": "and", "nodes": []}, "op": "contains", "value": 1},
        {"kind": "count", "level": "step", "node": {"kind": "and", "nodes": []}, "op": "=", "value": -1},
        {"kind": "and", "nodes": [{"kind": "text", "words": {"text": "a"}}] * 51},
        term("nofield", whole("x")),
        term("status:failed OR tag", whole("x")),
        term("status", whole("nostatus")),
        term("status", whole("failed"), ">"),
        term("status", None),
        term("status", whole("failed"), "has"),
        term("started", {"kind": "period", "text": "-24h OR tag:x"}),
        term("started", {"kind": "period", "low_us": 10**30}),
        term("started", {"kind": "period", "low_us": -(10**17)}),
        term("started", {"kind": "period", "low_us": 20, "high_us": 10}),
        term("duration", {"kind": "number", "value": float("nan"), "unit": "us"}, ">"),
        term("duration", {"kind": "number", "value": 10**400, "unit": "us"}, ">"),
        term("duration", {"kind": "number", "value": 1e300, "unit": "us"}, ">"),
        term("duration", {"kind": "number", "value": 5, "unit": "count"}, ">"),
        {**term("meta", whole("x")), "path": [-2]},
        {**term("meta", whole("x")), "path": [True]},
        {**term("meta", whole("x")), "path": []},
        {**term("status", whole("failed")), "path": ["a"]},
        {**term("status", whole("failed")), "sql": "1"},
        nest(MAX_DEPTH + 1, term("tag", whole("x"))),
        nest(5_000, term("tag", whole("x"))),
        {"kind": "and", "nodes": [term("tag", whole("x"))] * 100_000},
        {"kind": "text", "words": {"text": "x" * 1_000_000}},
    ],
)
def test_it_refuses_what_no_text_could_say(data: Any, noon: int) -> None:
    with pytest.raises(QuerySyntax):
        load(data, noon)


@pytest.mark.parametrize("data", [nest(100, term("tag", whole("x"))), [[0] * 3_000], {"nodes": [{}] * 3_000}])
def test_it_refuses_a_large_tree_before_it_looks_inside(data: Any, noon: int) -> None:
    with pytest.raises(QuerySyntax, match="too large"):
        load(data, noon)
