"""Values made up for JSON schemas."""

from __future__ import annotations

from typing import Any

import pytest

from agents.loop.inference.script.sample import SchemaError, sample


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 6, "maxLength": 6}, "text.."),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "string", "format": "date"}, "2025-01-01"),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": ["integer", "null"]}, 0),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "exclusiveMinimum": 3, "multipleOf": 5}, 5),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "minimum": 0.1, "multipleOf": 0.25}, 0.25),
        ({"const": {"a": 1}}, {"a": 1}),
        ({"enum": [None, 2]}, None),
        ({"type": "string", "default": "d"}, "d"),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"type": "array", "items": {"type": "integer"}}, []),
        ({"prefixItems": [{"type": "null"}], "type": "array", "items": {"type": "integer"}, "minItems": 2}, [None, 0]),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "a"}),
        ({"properties": {"a": True}, "required": ["a", "c"]}, {"a": "a", "c": "c"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 0),
        (
            {
                "allOf": [
                    {"properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {"const": 1}}, "required": ["b"]},
                ]
            },
            {"a": "a", "b": 1},
        ),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer", "minimum": 4}}}, 4),
        ({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"const": 1}}}, [1]),
        (True, "text"),
        ({"type": 7, "enum": [], "required": "a", "properties": [], "minLength": "x", "format": []}, {}),
    ],
)
def test_it_makes_a_small_value(schema: Any, value: Any) -> None:
    assert sample(schema) == value


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/none"},
        {"$ref": "https://example.org/schema"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
        {"type": "array", "minItems": 10**9},
        {"type": "array", "minItems": 999, "items": {"type": "array", "minItems": 999}},
        {"type": "string", "minLength": 10**9},
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "object", "required": [str(number) for number in range(10_000)]},
    ],
)
def test_it_refuses_a_schema_that_asks_for_too_much(schema: Any) -> None:
    with pytest.raises(SchemaError):
        sample(schema)
