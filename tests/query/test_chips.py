"""Chips, hints, and the edits behind facets and pickers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import translation

from agents.base.errors import QuerySyntax
from agents.query.chips import Chip, chips, hints, same_row, term_of, with_term, within, without_term
from agents.query.tree import Query


def test_each_condition_is_a_chip_that_can_be_removed(read: Callable[..., Query]) -> None:
    assert chips(read("status:failed (a OR agent:b) -env:dev")) == [
        Chip(text="status:failed", label="that failed", without="(a OR agent:b) -env:dev"),
        Chip(text="(a OR agent:b)", label="either saying “a” or of agent b", without="status:failed -env:dev"),
        Chip(text="-env:dev", label="except those in environment dev", without="status:failed (a OR agent:b)"),
    ]


@pytest.mark.parametrize("text", ["", "a", "a OR b", "tag:(a OR b)", "a b -(c d) step(tool:x y)"])
def test_the_chips_together_are_the_query(read: Callable[..., Query], text: str) -> None:
    assert read(" ".join(chip.text for chip in chips(read(text)))).tree == read(text).tree


def test_removing_every_chip_leaves_the_empty_query(read: Callable[..., Query]) -> None:
    query = read("a OR b")
    assert read(chips(query)[0].without) == read("")


def test_it_hints_at_lower_case_keywords(read: Callable[..., Query]) -> None:
    assert hints(read("a or b not c or d")) == [
        '"or" is searched for as a word. To combine conditions, write OR',
        '"not" is searched for as a word. To combine conditions, write NOT',
    ]
    assert hints(read("a OR b organ")) == []


@pytest.mark.parametrize(
    ("text", "together"),
    [
        ("a tool:x b type:tool", "a step(tool:x type:tool_execution) b"),
        ("tool:(x OR y) server_side:false", "step(tool:(x OR y) server_side:false)"),
        ("tool:x status:failed", None),
        ("tool:x -type:tool", None),
        ("step(tool:x type:tool)", None),
        ("tool:x OR type:tool", None),
    ],
)
def test_it_asks_whether_the_same_step_is_meant(read: Callable[..., Query], text: str, together: str | None) -> None:
    found = same_row(read(text))
    assert (found and found.text) == together
    assert bool(hints(read(text))) == (together is not None)
    assert same_row(read(text, level="step")) is None


def test_it_hints_at_a_status_of_responses_alone(read: Callable[..., Query]) -> None:
    assert "is:truncated" in hints(read("status:incomplete"))[0]
    assert hints(read("status:incomplete", level="response")) == hints(read("response(status:incomplete)")) == []


def test_of_sessions_it_asks_whether_the_same_turn_is_meant(read: Callable[..., Query]) -> None:
    found = same_row(read("status:failed in:refund session:a", level="session"))
    assert found is not None
    assert (found.level, found.text) == ("turn", "turn(status:failed in:refund) session:a")
    assert same_row(read("tokens:>5 cost:>$1", level="session")) is None


@pytest.mark.parametrize(
    ("text", "field", "value", "expected"),
    [
        ("", "status", "failed", "status:failed"),
        ("a OR b", "status", "failed", "(a OR b) status:failed"),
        ("status:failed a", "status", "completed", "status:(failed OR completed) a"),
        ("status:(failed OR completed)", "status", "failed", "status:(failed OR completed)"),
        ("-agent:x b", "agent", "x", "b agent:x"),
        ("-tag:(a OR b)", "tag", "a", "-tag:b tag:a"),
        ("has:tag tag:!=b", "tag", "a", "has:tag tag:!=b tag:a"),
        ("-agent:x", "agent", "y", "-agent:x agent:y"),
        ("", "agent", 'x" OR status:*', 'agent:"x\\" OR status:\\*"'),
        ("", "agent", "a*b\\", 'agent:"a\\*b\\\\"'),
        ("", "agent", "OR", 'agent:"OR"'),
        ("", "meta.customer.tier", "gold", "meta.customer.tier:gold"),
        ("", "server_side", "true", "server_side:true"),
        ("started:-7d a", "started", "-24h", "a started:-24h"),
        ("started:-7d", "started", "2026-11-20T10:00..11:00", "started:2026-11-20T10:00..11:00"),
        ("duration:>1s", "duration", ">2s", "duration:>2s"),
    ],
)
def test_a_click_adds_a_value(read: Callable[..., Query], text: str, field: str, value: str, expected: str) -> None:
    term = term_of(field, value)
    assert with_term(read(text), term).text == expected
    assert with_term(read(expected), term).text == expected
    assert with_term(with_term(read(text), term), term).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "-tag:a"),
        ("tag:a b", "b -tag:a"),
        ("tag:(a OR b)", "tag:b -tag:a"),
        ("-tag:a", "-tag:a"),
        ("-tag:b", "-tag:b -tag:a"),
    ],
)
def test_a_click_excludes_a_value(read: Callable[..., Query], text: str, expected: str) -> None:
    assert with_term(read(text), term_of("tag", "a"), exclude=True).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tag:a", ""),
        ("b tag:A tag:a", "b tag:A"),
        ("tag:(a OR b OR c)", "tag:(b OR c)"),
        ("-tag:a b", "b"),
        ("-tag:(a OR b)", "-tag:b"),
        ("tag:a OR user:x", "tag:a OR user:x"),
        ("b", "b"),
    ],
)
def test_a_click_removes_a_value(read: Callable[..., Query], text: str, expected: str) -> None:
    assert without_term(read(text), term_of("tag", "a")).text == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("statusx", "x"),
        ("status", "x"),
        ("status:failed OR agent", "x"),
        ("-tag", "a"),
        ("tag", ""),
        ("started", "-1h a"),
        ("duration", "(>1s OR <2s)"),
    ],
)
def test_it_adds_nothing_but_one_term(field: str, value: str) -> None:
    with pytest.raises(QuerySyntax):
        term_of(field, value)


def test_an_edit_keeps_to_the_limits(read: Callable[..., Query]) -> None:
    with pytest.raises(QuerySyntax, match="at most 50"):
        with_term(read(" ".join(f"w{n}" for n in range(50))), term_of("tag", "a"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "api:responses"),
        ("a OR b", "(a OR b) api:responses"),
        ("api:agents", "api:agents api:responses"),
        ("status:failed", "status:failed api:responses"),
    ],
)
def test_a_query_within_a_condition_is_both(read: Callable[..., Query], text: str, expected: str) -> None:
    assert within(read(text), term_of("api", "responses")).text == expected


def test_hints_are_said_in_another_language(read: Callable[..., Query]) -> None:
    with translation.override("de"):
        told = hints(read("a or tool:x type:tool"), translation)
    assert told[0].startswith("„or“ wird")
    assert "step(tool:x type:tool_execution)" in told[1]
    assert "different" not in told[1]
