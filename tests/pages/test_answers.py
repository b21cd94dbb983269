"""Answering in place of the client: the arguments as fields, and what a form says to the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.pages import tool_call_forms
from agents.record.schemas.content import ToolCall, ToolDef

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order": {"type": "integer", "description": "The order's number"},
        "speed": {"type": "string", "enum": ["slow", "fast"]},
        "gift": {"type": "boolean"},
        "note": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["order"],
}
TOOLS = [ToolDef(name="ship", input_schema=SCHEMA)]
GIVEN: dict[str, Any] = {"order": 7, "speed": "slow", "note": "two\nlines", "more": {"a": 1}}


def call(arguments: Any = None) -> ToolCall:
    return ToolCall(call_id="c1", tool_name="ship", arguments=GIVEN if arguments is None else arguments)


def told(**posted: str) -> Any:
    """What the model is told by a form of these fields (short names)."""
    names = {"decision": "decision:c1", "reason": "reason:c1", "answer": "call:c1"}
    form = {names.get(name, f"argument:c1:{name}"): value for name, value in posted.items()}
    return json.loads(tool_call_forms.answer_content(call(), TOOLS, form))


def test_the_schema_orders_the_fields_and_tells_their_kinds() -> None:
    found = {field.name: field for field in tool_call_forms.fields(GIVEN, SCHEMA)}
    assert {name: field.kind for name, field in found.items()} == {
        "order": "number",
        "speed": "choice",
        "gift": "truth",
        "note": "text",
        "lines": "json",
        "more": "json",
    }
    assert (found["order"].value, found["order"].required, found["order"].description) == (
        "7",
        True,
        "The order's number",
    )
    assert (found["speed"].choices, found["note"].value, found["more"].value) == (
        ("slow", "fast"),
        "two\nlines",
        '{"a":1}',
    )


def test_without_a_schema_the_values_tell() -> None:
    found = tool_call_forms.fields({"a": 1, "b": True, "c": "x", "d": [1], "e": None}, {})
    assert [field.kind for field in found] == ["number", "truth", "text", "json", "json"]


@pytest.mark.parametrize(
    "schema", [{"properties": 5}, {"properties": {"a": 5, "b": {"enum": [1, {}]}}, "required": [1]}]
)
def test_a_schema_that_is_none_is_as_good_as_none(schema: dict[str, Any]) -> None:
    assert {field.name for field in tool_call_forms.fields({"a": 1, "b": 2}, schema)} == {"a", "b"}
    assert tool_call_forms.fields("no object", SCHEMA) == ()
    assert tool_call_forms.fields({str(number): 1 for number in range(100)}, {}) == ()


def test_to_approve_says_so_and_nothing_else() -> None:
    unchanged = {field.name: field.value for field in tool_call_forms.fields(GIVEN, SCHEMA)}
    assert told(decision="approve") == told(decision="approve", **unchanged) == {"approved": True}
    # a browser sends its own kind of line ends
    assert told(decision="approve", note="two\r\nlines") == {"approved": True}


def test_what_was_changed_is_told_whole() -> None:
    said = told(decision="approve", order="8", gift="true", lines='["a"]')
    changed = {**GIVEN, "order": 8, "gift": True, "lines": ["a"]}
    assert said == {"approved": True, "arguments": changed}


def test_to_refuse_tells_why() -> None:
    assert told(decision="refuse", reason=" too dear ") == {"approved": False, "reason": "too dear"}
    assert told(decision="refuse") == {"approved": False}


def test_an_answer_is_passed_on_as_it_is() -> None:
    assert tool_call_forms.answer_content(call(), TOOLS, {"call:c1": "<b> {"}) == "<b> {"
    assert tool_call_forms.answer_content(call(), TOOLS, {"decision:c1": "nonsense", "call:c1": "x"}) == "x"


@pytest.mark.parametrize(("field", "value"), [("order", "eight"), ("order", '"8"'), ("order", "true"), ("lines", "[")])
def test_a_wrong_value_names_its_field(field: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{field}: "):
        told(decision="approve", **{field: value})
