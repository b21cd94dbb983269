"""What holds for any query: it is read or refused, its normal form means the same, as do its JSON
and its absolute form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.base.errors import QuerySyntax
from agents.query.chips import chips, hints
from agents.query.describe import describe
from agents.query.parser import from_json, parse
from agents.query.scanner import caret
from agents.query.tree import (
    And,
    Count,
    ExactValue,
    FieldTerm,
    FreeText,
    LevelScope,
    Node,
    Pattern,
    Query,
    SearchPhrase,
    all_of,
    any_of,
    negation,
)
from agents.query.writer import absolute, normalise, tree_text
from tests.query.oracle import matches
from tests.query.records import Row, SessionRecord, StepRecord, TurnRecord
from tests.query.texts import CONDITIONS, SCRAPS, SIGNS, TERMS

NOON = 1_795_176_000_000_000
LATER = NOON + 90 * 86_400_000_000
ZONE = "America/New_York"

# ------------------------------------------------------------------------- texts out of pieces

terms = st.sampled_from(TERMS)
wholes = terms | st.sampled_from(CONDITIONS)
conditions = st.lists(wholes, min_size=1, max_size=6)
readable = conditions.map(" ".join) | conditions.map(" OR ".join)

pieces = (
    wholes
    | st.sampled_from(SIGNS)
    | st.sampled_from(SCRAPS)
    | st.text(st.characters(codec="utf-8", min_codepoint=32), max_size=4)
)
blanks = st.sampled_from([" ", " ", " ", ""])
texts = st.lists(st.tuples(pieces, blanks).map("".join), max_size=30).map(lambda found: "".join(found)[:300])


def attempt(text: str) -> Query | QuerySyntax:
    """What the text is, or why it is refused."""
    try:
        return parse(text, now_us=NOON, zone=ZONE)
    except QuerySyntax as wrong:
        return wrong


def read(text: str) -> Query:
    return parse(text, now_us=NOON, zone=ZONE)


def holds_together(query: Query) -> None:
    """The normal form, JSON, sentence and chips of a query that was read."""
    again = read(normalise(query))
    assert again == query
    assert from_json(json.loads(query.tree.model_dump_json()), now_us=NOON, zone=ZONE) == query
    assert describe(query).startswith(("turns ", "all turns"))
    assert read(" ".join(chip.text for chip in chips(query))).tree == query.tree
    assert all(hints(query))


def is_read_or_refused(text: str) -> None:
    found = attempt(text)
    if isinstance(found, Query):
        holds_together(found)
    else:
        assert 0 <= found.position <= len(text)
        assert found.message
        assert caret(text, found.position)


@settings(max_examples=500, deadline=None)
@given(texts)
def test_any_text_is_read_or_refused(text: str) -> None:
    is_read_or_refused(text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300) | st.text(st.characters(), max_size=20) | st.text('()"\\:-* aO', max_size=300))
def test_any_garbage_is_read_or_refused(text: str) -> None:
    is_read_or_refused(text)


@settings(max_examples=300, deadline=None)
@given(readable)
def test_what_is_well_written_is_read(text: str) -> None:
    holds_together(read(text))


# ------------------------------------------------------------------------------ trees out of nodes

anything = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=12)
searchable = anything.map(lambda text: f"a{text}") | st.sampled_from(["AND", "a*", '"a', "a\\", "-a", "a:b", "退"])
filled = anything.filter(lambda text: bool(text.strip()))
words = st.builds(SearchPhrase, text=searchable, prefix=st.booleans()) | st.builds(
    SearchPhrase, text=searchable, inside=st.just(value=True)
)
patterns = st.builds(Pattern, parts=st.lists(anything | st.just(""), min_size=2, max_size=3).map(tuple)).filter(
    lambda pattern: bool("*".join(pattern.parts).strip())
)
leaves = (
    st.builds(FreeText, words=words)
    | st.builds(FieldTerm, field=st.sampled_from(["in", "error"]), op=st.just("contains"), value=words)
    | st.builds(
        FieldTerm,
        field=st.sampled_from(["agent", "tag", "tool"]),
        op=st.sampled_from(["=", "!="]),
        value=st.builds(ExactValue, text=filled) | patterns,
    )
    | st.builds(
        FieldTerm,
        field=st.just("meta"),
        path=st.lists(anything | st.integers(-1, 999), min_size=1, max_size=3).map(tuple),
        op=st.just("="),
        value=st.builds(ExactValue, text=filled),
    )
    | st.builds(FieldTerm, field=st.sampled_from(["user", "tokens.in"]), op=st.just("has"))
)


def grown(nodes: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(nodes, min_size=1, max_size=3)
    levels = st.sampled_from(["agent", "session", "turn", "response", "step"])
    quantifiers = st.sampled_from(["any", "all", "no", "first", "last"])
    inside = st.builds(LevelScope, quantifier=quantifiers, level=levels, node=nodes)
    signs, empty = st.sampled_from(["=", "!=", ">="]), st.just(And(nodes=()))
    counted = st.builds(Count, level=levels, node=nodes | empty, op=signs, value=st.just(2))
    return several.map(all_of) | several.map(any_of) | nodes.map(negation) | inside | counted


trees = st.recursive(leaves, grown, max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(trees)
def test_a_written_tree_reads_back_as_itself(tree: Node) -> None:
    found = attempt(tree_text(tree))
    if isinstance(found, Query):
        assert found.tree == tree
    else:
        assert "8 deep" in found.message


# -------------------------------------------------------------------------- the meaning stays

moments = st.none() | st.integers(-400, 100).map(lambda hours: NOON + hours * 3_600_000_000)
said = st.sampled_from(["", "Refund, late-fee: x y", "a b", "RE 退款"])
steps = st.builds(
    StepRecord,
    id=st.just("s"),
    type=st.sampled_from(["tool_execution", "other"]),
    status=st.sampled_from(["completed", "failed"]),
    tool=st.sampled_from(["", "ana", "web_search"]),
    started_us=moments,
    said=said,
    args=st.sampled_from([None, {"path": "/etc/x", "n": [1, {"a": "dev"}]}]),
    server_side=st.none() | st.booleans(),
    answered_by=st.sampled_from(["", "ana"]),
)
turns = st.builds(
    TurnRecord,
    id=st.just("a"),
    status=st.sampled_from(["failed", "queued"]),
    env=st.sampled_from(["", "dev", "a*b"]),
    tags=st.sampled_from([(), ("ana",), ("dev", "failed")]),
    started_us=moments,
    ended_us=moments,
    duration_us=st.none() | st.sampled_from([0, 250_000, 3_000_000]),
    tokens_total=st.none() | st.sampled_from([0, 1_000, 2_000_000]),
    input=said,
    output=said,
    steps=st.lists(steps, max_size=3).map(tuple),
)


@settings(max_examples=300, deadline=None)
@given(readable, turns)
def test_other_forms_accept_the_same_turns(text: str, made: TurnRecord) -> None:
    turn = Row(session=SessionRecord(id="ana", turns=(made,)), turn=made)
    query = read(text)
    expected = matches(query, turn)
    elsewhere = parse(absolute(query), now_us=LATER, zone="Asia/Tokyo")
    assert matches(elsewhere, turn) == expected
    assert matches(read(f"-({query.text})"), turn) != expected
