"""Converts the API's OpenAPI 3.1 description (decoded JSON) into a tree for the documentation page.

Pure: knows neither requests nor HTML. Named types are unfolded a few levels where they are used;
from there on, and where a type holds itself, their names lead to the list of all types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.server.pages.curl_example import curl
from agents.uikit.format import readable_name

DEPTH = 3
"""Levels that are unfolded in place."""
METHODS = ("get", "post", "put", "patch", "delete")

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TypePart:
    """A part of a rendered type: text such as ``array of``, or a type's name with the anchor of its entry."""

    text: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A member of an object, a parameter, or, without a name, one kind of several. ``facts`` are its
    bounds and its default as text."""

    name: str
    type: tuple[TypePart, ...]
    required: bool = False
    description: str = ""
    facts: tuple[str, ...] = ()
    fields: tuple[FieldDoc, ...] = ()


@dataclass(frozen=True, slots=True)
class BodyDoc:
    """The body of a request or response in one media type."""

    media: str
    content: FieldDoc


@dataclass(frozen=True, slots=True)
class ResponseDoc:
    """One response of an operation: its status code, description and bodies."""

    status: str
    description: str
    bodies: tuple[BodyDoc, ...]


@dataclass(frozen=True, slots=True)
class OperationDoc:
    """One operation: a method of a path. ``parameters`` are (path, query or header, field)."""

    anchor: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[tuple[str, FieldDoc], ...]
    bodies: tuple[BodyDoc, ...]
    responses: tuple[ResponseDoc, ...]
    example: str


@dataclass(frozen=True, slots=True)
class TypeDoc:
    """A named type with its anchor on the page."""

    anchor: str
    content: FieldDoc


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """The whole description: operations by tag, and all named types."""

    title: str
    version: str
    groups: tuple[tuple[str, tuple[OperationDoc, ...]], ...]
    types: tuple[TypeDoc, ...]


def read_description(raw: Mapping[str, Any]) -> ApiDescription:
    """Convert the decoded JSON; operations are grouped by tag, in their original order."""
    reader = _Reader(raw.get("components", {}).get("schemas", {}))
    groups: dict[str, list[OperationDoc]] = {}
    for path, item in raw["paths"].items():
        for method in METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["other"])[0]
                groups.setdefault(tag, []).append(reader.operation(method, path, item[method]))
    return ApiDescription(
        title=raw["info"]["title"],
        version=raw["info"]["version"],
        groups=tuple((tag, tuple(operations)) for tag, operations in groups.items()),
        types=tuple(reader.types()),
    )


class _Reader:
    """Converts operations and types, resolving references to the named schemas."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def operation(self, method: str, path: str, raw: Mapping[str, Any]) -> OperationDoc:
        name = raw.get("operationId", f"{method} {path}")
        content = raw.get("requestBody", {}).get("content", {})
        return OperationDoc(
            anchor=f"op-{_slug(name)}",
            method=method.upper(),
            path=path,
            summary=raw.get("summary") or readable_name(name).capitalize(),
            description=raw.get("description", ""),
            parameters=tuple((parameter["in"], self._parameter(parameter)) for parameter in raw.get("parameters", ())),
            bodies=self._bodies(content),
            responses=tuple(self._responses(raw.get("responses", {}))),
            example=curl(method, path, _first_schema(content), self._schemas),
        )

    def types(self) -> Iterator[TypeDoc]:
        for name in sorted(self._schemas, key=str.lower):
            yield TypeDoc(f"type-{_slug(name)}", self._field(name, self._schemas[name], depth=1))

    def _parameter(self, raw: Mapping[str, Any]) -> FieldDoc:
        schema = {**raw.get("schema", {}), "description": raw.get("description", "")}
        return self._field(raw["name"], schema, required=raw.get("required", False), depth=DEPTH)

    def _bodies(self, content: Mapping[str, Any]) -> tuple[BodyDoc, ...]:
        return tuple(
            BodyDoc(media, self._field("", _payload_schema(body), depth=DEPTH)) for media, body in content.items()
        )

    def _responses(self, raw: Mapping[str, Any]) -> Iterator[ResponseDoc]:
        for status, response in raw.items():
            if status >= "400":
                continue  # the same everywhere: `ErrorBody`
            yield ResponseDoc(status, response.get("description", ""), self._bodies(response.get("content", {})))

    # ------------------------------------------------------------------------------------ schemas

    def _field(
        self, name: str, schema: Schema, *, depth: int, required: bool = False, within: tuple[str, ...] = ()
    ) -> FieldDoc:
        return FieldDoc(
            name=name,
            type=tuple(self._type(schema)),
            required=required,
            description=schema.get("description", "") or self._named(schema).get("description", ""),
            facts=tuple(_facts(schema)),
            fields=tuple(self._members(schema, depth, within)),
        )

    def _named(self, schema: Schema) -> Schema:
        """Return the schema that a reference names, or the schema itself where it is no reference."""
        name = _reference(schema)
        return self._schemas.get(name, {}) if name else schema

    def _type(self, schema: Schema) -> Iterator[TypePart]:
        name = _reference(schema)
        if name:
            yield TypePart(name, f"type-{_slug(name)}")
        elif choices := _alternatives(schema):
            for position, choice in enumerate(choices):
                if position:
                    yield TypePart(" or ")
                yield from self._type(choice)
        elif schema.get("type") == "array":
            yield TypePart("array of ")
            yield from self._type(schema.get("items", {}))
        elif "const" in schema:
            yield TypePart(json.dumps(schema["const"]))
        else:
            yield TypePart(_plain_type(schema))

    def _members(self, schema: Schema, depth: int, within: tuple[str, ...]) -> Iterator[FieldDoc]:
        """Yield the members of an object, or, of several kinds of objects, each kind with its members."""
        objects = [kind for kind in self._objects(schema) if (_reference(kind) or "") not in within]
        if depth == 0 or not objects:
            return
        if len(objects) > 1:
            for kind in objects:
                yield self._field("", kind, depth=depth - 1, within=within)
            return
        name, properties = _reference(objects[0]), self._named(objects[0])
        inside = (*within, name) if name else within
        for member, inner in properties.get("properties", {}).items():
            needed = member in properties.get("required", ())
            yield self._field(member, inner, depth=depth - 1, required=needed, within=inside)

    def _objects(self, schema: Schema) -> list[Schema]:
        """Return the kinds of objects that a value can be or a list can hold."""
        choices = _alternatives(schema) or [schema]
        objects: dict[str, Schema] = {}
        for choice in choices:
            if choice.get("type") == "array":
                objects |= {_key(kind): kind for kind in self._objects(choice.get("items", {}))}
            elif choice is not schema and _alternatives(choice):
                objects |= {_key(kind): kind for kind in self._objects(choice)}
            elif "properties" in self._named(choice):
                objects[_key(choice)] = choice
        return list(objects.values())


def _payload_schema(body: Mapping[str, Any]) -> Schema:
    """Return the schema of a body; for a stream, of the JSON in its events."""
    schema: Schema = body.get("schema", {})
    data: Schema = schema.get("properties", {}).get("data", {})
    content: Schema = data.get("contentSchema", schema)
    return content


def _first_schema(content: Mapping[str, Any]) -> Schema | None:
    return next((body.get("schema") for body in content.values()), None)


def _key(schema: Schema) -> str:
    """Return the identity of a kind of object, which may stand several times among alternatives."""
    return _reference(schema) or str(id(schema))


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _alternatives(schema: Schema) -> Sequence[Schema]:
    return schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()


def _plain_type(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type", "any")
    kind = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{kind} ({schema['format']})" if "format" in schema else kind


_BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
}


def _facts(schema: Schema) -> Iterator[str]:
    for candidate in (schema, *_alternatives(schema)):
        for bound, sentence in _BOUNDS.items():
            if bound in candidate:
                value = candidate[bound]
                yield "not empty" if (bound, value) == ("minLength", 1) else sentence.format(value)
    default = schema.get("default")
    if default is not None and "const" not in schema:
        yield f"default {json.dumps(default, ensure_ascii=False)}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
