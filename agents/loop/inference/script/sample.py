"""Makes a small value that a JSON schema accepts.

It supports the simple schemas of tools and answers: types, enums, bounds, references inside the
document; no patterns and no conditions. A schema that needs more is refused, there is no search.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from agents.base.schemas.wire import JSON
from agents.loop.inference.script.actions import ImpossibleAction

MAX_DEPTH = 32
MAX_VALUES = 1_000
MAX_CHARS = 10_000
MAX_NUMBER = 2**53

_FORMATS = {
    "date": "2025-01-01",
    "date-time": "2025-01-01T00:00:00Z",
    "email": "someone@example.org",
    "time": "00:00:00Z",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}

_BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "minimum": operator.ge,
    "maximum": operator.le,
    "exclusiveMinimum": operator.gt,
    "exclusiveMaximum": operator.lt,
}


class SchemaError(ImpossibleAction):
    """No value was found for this schema."""


def sample(schema: JSON, *, name: str = "text", root: JSON = None) -> JSON:
    """Make a minimal value: only required properties, the smallest number within the bounds, and for a
    text its own ``name``. References are looked up in ``root``, by default the schema itself. Raises
    SchemaError."""
    return _Sampler(schema if root is None else root).value(schema, name, 0)


class _Sampler:
    def __init__(self, root: JSON) -> None:
        self._root = root
        self._remaining_values = MAX_VALUES

    def value(self, schema: JSON, name: str, depth: int) -> JSON:
        schema = self._resolve(_mapping(schema), depth)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "examples"):
            if isinstance(schema.get(key), list) and schema[key]:
                return schema[key][0]
        return self._of_type(schema, name, depth)

    def _of_type(self, schema: Mapping[str, JSON], name: str, depth: int) -> JSON:
        match _type(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, name, depth)
            case "integer":
                return _number(schema, integer=True)
            case "number":
                return _number(schema, integer=False)
            case "boolean":
                return False
            case "null":
                return None
            case _:
                return _text(schema, name)

    def _object(self, schema: Mapping[str, JSON], depth: int) -> dict[str, JSON]:
        properties = _mapping(schema.get("properties"))
        required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
        return {name: self.value(properties.get(name), name, depth + 1) for name in required}

    def _array(self, schema: Mapping[str, JSON], name: str, depth: int) -> list[JSON]:
        first = _list(schema.get("prefixItems"))
        count = _bound(schema, "minItems") or 0
        if count > MAX_VALUES:
            raise SchemaError(f"a list of more than {MAX_VALUES} items")
        kinds = [first[index] if index < len(first) else schema.get("items") for index in range(math.ceil(count))]
        return [self.value(kind, name, depth + 1) for kind in kinds]

    def _resolve(self, schema: Mapping[str, JSON], depth: int) -> Mapping[str, JSON]:
        """Return the schema with its reference followed, and its ``allOf`` and the first of its
        alternatives merged in."""
        self._count_value(depth)
        parts: list[JSON] = [*_list(schema.get("allOf"))]
        if isinstance(schema.get("$ref"), str):
            parts.append(self._target(schema["$ref"]))
        for key in ("anyOf", "oneOf"):
            parts += _list(schema.get(key))[:1]
        merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        for part in parts:
            merged = _merge(merged, self._resolve(_mapping(part), depth + 1))
        return merged

    def _count_value(self, depth: int) -> None:
        """Count a value towards the limits: a schema that refers to itself twice doubles at each level."""
        self._remaining_values -= 1
        if depth > MAX_DEPTH or self._remaining_values < 0:
            raise SchemaError("the schema is too deep or too large")

    def _target(self, reference: str) -> JSON:
        target = self._root
        for segment in reference.removeprefix("#").split("/")[1:]:
            target = _mapping(target).get(segment.replace("~1", "/").replace("~0", "~"))
        if not reference.startswith("#") or target is None:
            raise SchemaError(f"the reference {reference[:80]!r} leads nowhere")
        return target


def _type(schema: Mapping[str, JSON]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        kind = kind[0]
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _merge(schema: Mapping[str, JSON], other: Mapping[str, JSON]) -> dict[str, JSON]:
    both = {**other, **schema}
    if "properties" in schema and "properties" in other:
        both["properties"] = {**_mapping(other["properties"]), **_mapping(schema["properties"])}
    if "required" in schema and "required" in other:
        both["required"] = [*_list(schema["required"]), *_list(other["required"])]
    return both


def _number(schema: Mapping[str, JSON], *, integer: bool) -> int | float:
    """Return the first allowed number of: 0, the bounds, their neighbours and multiples, their middle."""
    bounds = [bound for key in _BOUNDS if (bound := _bound(schema, key)) is not None]
    unit = _bound(schema, "multipleOf") or 1
    nearby = [candidate for bound in bounds for candidate in (bound, bound + unit, bound - unit)]
    multiples = [rounded(candidate / unit) * unit for candidate in nearby for rounded in (math.ceil, math.floor)]
    middle = [sum(bounds) / len(bounds)] if bounds else []
    for guess in [0, *nearby, *multiples, *middle]:
        if _is_allowed(guess, schema) and (not integer or guess == int(guess)):
            return int(guess) if integer else guess
    raise SchemaError("no number was found within the bounds")


def _is_allowed(number: int | float, schema: Mapping[str, JSON]) -> bool:
    unit = _bound(schema, "multipleOf")
    if unit and not math.isclose(number / unit, round(number / unit), abs_tol=1e-9):
        return False
    for key, holds in _BOUNDS.items():
        bound = _bound(schema, key)
        if bound is not None and not holds(number, bound):
            return False
    return True


def _text(schema: Mapping[str, JSON], name: str) -> str:
    example = _FORMATS.get(schema["format"]) if isinstance(schema.get("format"), str) else None
    if example:
        return example
    min_length, max_length = _bound(schema, "minLength") or 0, _bound(schema, "maxLength")
    if min_length > MAX_CHARS:
        raise SchemaError(f"a text of more than {MAX_CHARS} characters")
    text = (name or "text").ljust(math.ceil(min_length), ".")
    return text if max_length is None else text[: max(math.floor(max_length), 0)]


def _bound(schema: Mapping[str, JSON], key: str) -> int | float | None:
    value = schema.get(key)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
    return value if usable else None


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
