"""Reading an API's description: types in words, what is unfolded, what an example says."""

from __future__ import annotations

from typing import Any

import pytest

from agents.server.pages.curl_example import curl
from agents.server.pages.description import ApiDescription, FieldDoc, read_description


def describe(schema: Any, **schemas: Any) -> ApiDescription:
    body = {"content": {"application/json": {"schema": schema}}}
    operation = {"operationId": "make_thing", "tags": ["things"], "requestBody": body, "responses": {"204": {}}}
    return read_description(
        {
            "info": {"title": "An API", "version": "1"},
            "paths": {"/v1/things/{thing_id}": {"post": operation}},
            "components": {"schemas": schemas},
        }
    )


def content(schema: Any, **schemas: Any) -> FieldDoc:
    return describe(schema, **schemas).groups[0][1][0].bodies[0].content


def words_of(field: FieldDoc) -> str:
    return "".join(word.text for word in field.type)


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


THING = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"], "description": "A thing."}

TYPES: list[tuple[Any, str]] = [
    ({"type": "string"}, "string"),
    ({"type": "string", "format": "date-time"}, "string (date-time)"),
    ({"type": ["string", "null"]}, "string or null"),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
    ({"type": "array", "items": {"type": "string"}}, "array of string"),
    ({"type": "array", "items": {"oneOf": [ref("A"), ref("B")]}}, "array of A or B"),
    ({"enum": ["a", "b"]}, '"a" | "b"'),
    ({"const": "user", "type": "string"}, '"user"'),
    (ref("Thing"), "Thing"),
    ({}, "any"),
]


@pytest.mark.parametrize(("schema", "said"), TYPES)
def test_it_says_a_type_in_words(schema: Any, said: str) -> None:
    assert words_of(content(schema, Thing=THING)) == said


def test_a_named_type_leads_to_it() -> None:
    found = describe(ref("Page[Thing]"), **{"Page[Thing]": THING})
    word = found.groups[0][1][0].bodies[0].content.type[0]
    assert (word.text, word.anchor) == ("Page[Thing]", "type-Page-Thing")
    assert [one.anchor for one in found.types] == ["type-Page-Thing"]


def test_members_are_unfolded_with_what_is_required() -> None:
    found = content(ref("Thing"), Thing=THING)
    assert found.description == "A thing."
    assert [(one.name, words_of(one), one.required) for one in found.fields] == [("size", "integer", True)]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": ref("Thing")},
        {"anyOf": [ref("Thing"), {"type": "null"}]},
        {"anyOf": [{"type": "array", "items": {"anyOf": [{"type": "string"}, ref("Thing")]}}, {"type": "null"}]},
        {"anyOf": [ref("Thing"), {"type": "array", "items": ref("Thing")}]},
    ],
)
def test_one_kind_of_object_shows_its_members_wherever_it_is(schema: Any) -> None:
    assert [one.name for one in content(schema, Thing=THING).fields] == ["size"]


def test_several_kinds_show_each_with_its_members() -> None:
    found = content({"oneOf": [ref("A"), ref("B")]}, A=THING, B=THING)
    assert [(one.name, words_of(one), [inner.name for inner in one.fields]) for one in found.fields] == [
        ("", "A", ["size"]),
        ("", "B", ["size"]),
    ]


def test_a_type_that_holds_itself_ends() -> None:
    tree = {"type": "object", "properties": {"child": ref("Tree")}}
    found = content(ref("Tree"), Tree=tree)
    assert [one.name for one in found.fields] == ["child"]
    assert found.fields[0].fields == ()


def test_deep_types_end_with_a_name() -> None:
    nested = {f"T{level}": {"properties": {"next": ref(f"T{level + 1}")}} for level in range(10)}
    field, depth = content(ref("T0"), **nested), 0
    while field.fields:
        field, depth = field.fields[0], depth + 1
    assert depth == 3
    assert field.type[0].anchor == "type-T3"


def test_a_reference_to_nothing_is_shown_as_its_name() -> None:
    assert words_of(content(ref("Gone"))) == "Gone"


FACTS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"minLength": 1, "maxLength": 300}, ("not empty", "at most 300 characters")),
    ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": 10}, ("at least 1", "default 10")),
    ({"default": None}, ()),
    ({"default": "é"}, ('default "é"',)),
    ({"const": "user", "default": "user"}, ()),
]


@pytest.mark.parametrize(("schema", "said"), FACTS)
def test_it_tells_bounds_and_defaults(schema: dict[str, Any], said: tuple[str, ...]) -> None:
    assert content(schema).facts == said


def test_an_operation_is_named_by_its_summary_or_its_id() -> None:
    operation = describe({}).groups[0][1][0]
    assert (operation.method, operation.summary, operation.anchor) == ("POST", "Make thing", "op-make-thing")


# ------------------------------------------------------------------------------------------- example


def test_the_example_has_what_is_required_and_what_tells_kinds_apart() -> None:
    message = {
        "properties": {
            "role": {"const": "user", "default": "user"},
            "content": {"anyOf": [{"type": "string"}, {"type": "array"}]},
            "context": {"type": "string"},
        },
        "required": ["content"],
    }
    body = {"properties": {"messages": {"type": "array", "items": ref("Message")}}, "required": ["messages"]}
    said = curl("post", "/v1/a/{a_id}/turn", body, {"Message": message})
    assert said.splitlines()[0] == 'curl "$API/v1/a/$a_id/turn" \\'
    assert '"role": "user",' in said
    assert '"content": "Hello!"' in said
    assert "context" not in said


def test_the_example_can_be_pasted() -> None:
    said = curl("post", "/v1/a", {"enum": ["it's"]}, {})
    assert said.endswith("""-d '"it'\\''s"'""")


@pytest.mark.parametrize(
    ("method", "begins"), [("get", 'curl "$API'), ("delete", 'curl -X DELETE "$API'), ("post", "curl -X")]
)
def test_the_example_names_the_method_where_curl_does_not_know_it(method: str, begins: str) -> None:
    assert curl(method, "/v1/a", None, {}).startswith(begins)


def test_an_example_of_a_type_that_holds_itself_ends() -> None:
    tree = {"properties": {"child": ref("Tree")}, "required": ["child"]}
    assert curl("post", "/", ref("Tree"), {"Tree": tree}).count("child") == 8
