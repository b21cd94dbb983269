"""The table of fields: complete, and in step with the records, the parser and the sentences."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.query.describe import describe
from agents.query.fields import FIELDS, FREE_TEXT, PRESENCE, QueryField, canonical_id, find_field, level_of
from agents.query.tree import FieldTerm, Query, leaves
from tests.query.columns import COLUMNS
from tests.query.records import AgentRecord, ResponseRecord, SessionRecord, StepRecord, TurnRecord

EVERY = pytest.mark.parametrize("field", FIELDS.values(), ids=list(FIELDS))

FIRST_SET = """
    id agent session turn caller response user tag env key api source meta prompt status is error error.message finish
    violation type kind tool server_side answered_by model provider started ended duration waited ttft cost
    tokens tokens.in tokens.out tokens.cached tokens.reasoning in out text
    args result attachment rating score comment
"""


def test_it_has_the_first_set_and_no_more() -> None:
    assert sorted(FIELDS) == sorted(FIRST_SET.split())
    assert set(PRESENCE.values()) <= set(FIELDS)
    assert FIELDS[FREE_TEXT].kind == "text"


@EVERY
def test_the_oracle_knows_it_at_each_of_its_levels(field: QueryField) -> None:
    records: dict[str, type[AgentRecord | SessionRecord | TurnRecord | ResponseRecord | StepRecord]] = {
        "agent": AgentRecord,
        "session": SessionRecord,
        "turn": TurnRecord,
        "response": ResponseRecord,
        "step": StepRecord,
    }
    assert tuple(COLUMNS[field.name]) == field.levels
    for level, columns in COLUMNS[field.name].items():
        assert columns
        known = {*records[level].__dataclass_fields__, *dir(records[level])}
        assert set(columns) <= known


@EVERY
def test_its_example_is_a_query_with_a_sentence(field: QueryField, read: Callable[..., Query]) -> None:
    (term,) = leaves(read(field.sample).tree)
    assert isinstance(term, FieldTerm)
    assert term.field == field.name
    assert len(describe(read(field.sample)).split()) >= 2
    assert field.help
    assert ("{}" in field.phrase) == (field.kind != "flag")


@EVERY
def test_the_parser_takes_its_operators(field: QueryField, read: Callable[..., Query]) -> None:
    name = field.sample.partition(":")[0]
    value = field.example.lstrip("<>").partition("..")[0]
    plain = value.replace("*", "x") if field.kind == "data" else value
    written = {"contains": plain, "has": "*"}
    for op in field.operators:
        compared = "5" if field.kind == "data" and op in (">", ">=", "<", "<=", "..") else value
        text = f"{compared}.." if op == ".." else written.get(op, op + compared)
        (term,) = leaves(read(f"{name}:{text}").tree)
        assert isinstance(term, FieldTerm)
        assert term.op == op


def test_every_alias_is_another_word_for_a_choice() -> None:
    for field in FIELDS.values():
        assert set(field.aliases.values()) <= set(field.choices)
        assert not set(field.aliases) & set(field.choices)


def test_a_term_looks_at_its_own_row_else_above_else_below() -> None:
    assert level_of(FIELDS["status"], "turn") == "turn"
    assert level_of(FIELDS["status"], "step") == "step"
    assert level_of(FIELDS["agent"], "step") == "agent"
    assert level_of(FIELDS["tool"], "turn") == "step"
    assert level_of(FIELDS["status"], "session") == "turn"


def test_it_finds_dotted_names() -> None:
    assert find_field(["Tokens", "IN"]) == (FIELDS["tokens.in"], ())
    assert find_field(["meta", "a", 0]) == (FIELDS["meta"], ("a", 0))
    assert find_field(["tokens", "foo"]) is None
    assert find_field(["status", "a"]) is None


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("0193A2B4-0000-8000-8000-00000000000F", "0193a2b400008000800000000000000f"),
        ("resp_0193a2b400008000800000000000000f", "0193a2b400008000800000000000000f"),
        ("Trace-7", "trace-7"),
    ],
)
def test_it_compares_ids_in_one_spelling(text: str, bare: str) -> None:
    assert canonical_id(text) == bare
