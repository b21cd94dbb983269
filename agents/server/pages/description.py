"""The description of the API (OpenAPI 3.1, as decoded JSON) as a tree to be shown.

Pure: knows neither requests nor HTML. Named types are unfolded a few levels where they are used;
from there on, and where a type holds itself, their names lead to the list of all types.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.server.pages.description_example import curl
from agents.uikit.format import readable_name

DEPTH = 3
"""Levels that are unfolded in place."""
METHODS = ("get", "post", "put", "patch", "delete")

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a type: ``array of``, or a name that leads to its type."""

    text: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A member of an object, a parameter, or, without a name, one kind of several. ``facts`` are its
    bounds and its default in words."""

    name: str
    type: tuple[Word, ...]
    required: bool = False
    words: str = ""
    facts: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent, or comes back: of one media type."""

    media: str
    content: Field


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    words: str
    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    anchor: str
    method: str
    path: str
    summary: str
    words: str
    parameters: tuple[tuple[str, Field], ...]
    """Each with where it stands: path, query or header."""
    bodies: tuple[Body, ...]
    answers: tuple[Answer, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Type:
    anchor: str
    content: Field


@dataclass(frozen=True, slots=True)
class Description:
    title: str
    version: str
    groups: tuple[tuple[str, tuple[Operation, ...]], ...]
    types: tuple[Type, ...]


def read(raw: Mapping[str, Any]) -> Description:
    """The whole description; operations by tag, in the order they come."""
    reader = _Reader(raw.get("components", {}).get("schemas", {}))
    groups: dict[str, list[Operation]] = {}
    for path, item in raw["paths"].items():
        for method in METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["other"])[0]
                groups.setdefault(tag, []).append(reader.operation(method, path, item[method]))
    return Description(
        title=raw["info"]["title"],
        version=raw["info"]["version"],
        groups=tuple((tag, tuple(found)) for tag, found in groups.items()),
        types=tuple(reader.types()),
    )


class _Reader:
    """Reads against the named schemas."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def operation(self, method: str, path: str, raw: Mapping[str, Any]) -> Operation:
        name = raw.get("operationId", f"{method} {path}")
        content = raw.get("requestBody", {}).get("content", {})
        return Operation(
            anchor=f"op-{_slug(name)}",
            method=method.upper(),
            path=path,
            summary=raw.get("summary") or readable_name(name).capitalize(),
            words=raw.get("description", ""),
            parameters=tuple((one["in"], self._parameter(one)) for one in raw.get("parameters", ())),
            bodies=self._bodies(content),
            answers=tuple(self._answers(raw.get("responses", {}))),
            example=curl(method, path, _first_schema(content), self._schemas),
        )

    def types(self) -> Iterator[Type]:
        for name in sorted(self._schemas, key=str.lower):
            yield Type(f"type-{_slug(name)}", self._field(name, self._schemas[name], depth=1))

    def _parameter(self, raw: Mapping[str, Any]) -> Field:
        schema = {**raw.get("schema", {}), "description": raw.get("description", "")}
        return self._field(raw["name"], schema, required=raw.get("required", False), depth=DEPTH)

    def _bodies(self, content: Mapping[str, Any]) -> tuple[Body, ...]:
        return tuple(Body(media, self._field("", _told(one), depth=DEPTH)) for media, one in content.items())

    def _answers(self, raw: Mapping[str, Any]) -> Iterator[Answer]:
        for status, one in raw.items():
            if status >= "400":
                continue  # the same everywhere: `ErrorBody`
            yield Answer(status, one.get("description", ""), self._bodies(one.get("content", {})))

    # ------------------------------------------------------------------------------------ schemas

    def _field(
        self, name: str, schema: Schema, *, depth: int, required: bool = False, within: tuple[str, ...] = ()
    ) -> Field:
        return Field(
            name=name,
            type=tuple(self._type(schema)),
            required=required,
            words=schema.get("description", "") or self._named(schema).get("description", ""),
            facts=tuple(_facts(schema)),
            fields=tuple(self._members(schema, depth, within)),
        )

    def _named(self, schema: Schema) -> Schema:
        """The schema a reference names; the same schema where it is none."""
        name = _reference(schema)
        return self._schemas.get(name, {}) if name else schema

    def _type(self, schema: Schema) -> Iterator[Word]:
        name = _reference(schema)
        if name:
            yield Word(name, f"type-{_slug(name)}")
        elif choices := _alternatives(schema):
            for place, choice in enumerate(choices):
                if place:
                    yield Word(" or ")
                yield from self._type(choice)
        elif schema.get("type") == "array":
            yield Word("array of ")
            yield from self._type(schema.get("items", {}))
        elif "const" in schema:
            yield Word(json.dumps(schema["const"]))
        else:
            yield Word(_plain_type(schema))

    def _members(self, schema: Schema, depth: int, within: tuple[str, ...]) -> Iterator[Field]:
        """The members of an object; of several kinds of objects, each kind with its members."""
        objects = [one for one in self._objects(schema) if (_reference(one) or "") not in within]
        if depth == 0 or not objects:
            return
        if len(objects) > 1:
            for one in objects:
                yield self._field("", one, depth=depth - 1, within=within)
            return
        name, found = _reference(objects[0]), self._named(objects[0])
        inside = (*within, name) if name else within
        for member, inner in found.get("properties", {}).items():
            needed = member in found.get("required", ())
            yield self._field(member, inner, depth=depth - 1, required=needed, within=inside)

    def _objects(self, schema: Schema) -> list[Schema]:
        """The kinds of objects a value can be, or hold as a list."""
        choices = _alternatives(schema) or [schema]
        found: dict[str, Schema] = {}
        for choice in choices:
            if choice.get("type") == "array":
                found |= {_key(one): one for one in self._objects(choice.get("items", {}))}
            elif choice is not schema and _alternatives(choice):
                found |= {_key(one): one for one in self._objects(choice)}
            elif "properties" in self._named(choice):
                found[_key(choice)] = choice
        return list(found.values())


def _told(body: Mapping[str, Any]) -> Schema:
    """What a body says: of a stream, what its events have as JSON."""
    schema: Schema = body.get("schema", {})
    data: Schema = schema.get("properties", {}).get("data", {})
    return data.get("contentSchema", schema)  # type: ignore[no-any-return]  # raw JSON


def _first_schema(content: Mapping[str, Any]) -> Schema | None:
    return next((one.get("schema") for one in content.values()), None)


def _key(schema: Schema) -> str:
    """The same kind of object once, however often it is an alternative."""
    return _reference(schema) or str(id(schema))


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _alternatives(schema: Schema) -> Sequence[Schema]:
    return schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf") or ()


def _plain_type(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
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
    for one in (schema, *_alternatives(schema)):
        for bound, sentence in _BOUNDS.items():
            if bound in one:
                yield "not empty" if (bound, one[bound]) == ("minLength", 1) else sentence.format(one[bound])
    default = schema.get("default")
    if default is not None and "const" not in schema:
        yield f"default {json.dumps(default, ensure_ascii=False)}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
