"""Conversion of OTLP's AnyValue and attribute lists to plain values, from protobuf messages and from JSON.

Bytes become ``{"base64": …}``. Kinds that a newer version of the protocol may add become None.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from agents.telemetry.reading.decoding import FormatError, as_object, json_type_name, list_field, read_at
from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, MAX_DEPTH, MAX_ITEMS, TOO_DEEP, clean_number, clean_text

OBJECT_HINT = (
    'attributes are a list of {"key": …, "value": {"stringValue": …}} in OTLP/JSON, not an object. '
    "Does an OpenTelemetry exporter write this?"
)


def from_message(value: Any, depth: int = 0) -> Any:
    """Convert an AnyValue message to a plain value."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return clean_text(value.string_value)
    if kind == "double_value":
        return clean_number(value.double_value)
    if kind in ("int_value", "bool_value"):
        return getattr(value, kind)
    if kind == "bytes_value":
        return {"base64": base64.b64encode(value.bytes_value).decode()}
    if kind in ("array_value", "kvlist_value"):
        return _nested_message(getattr(value, kind).values, kind, depth)
    return None


def _nested_message(values: Any, kind: str, depth: int) -> Any:
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if kind == "array_value":
        return [from_message(item, depth + 1) for item in values[:MAX_ITEMS]]
    return {clean_text(pair.key): from_message(pair.value, depth + 1) for pair in values[:MAX_ITEMS]}


def attributes_from_messages(pairs: Any) -> tuple[dict[str, Any], int]:
    """Convert KeyValue messages to a dictionary, and count those beyond the bound."""
    attributes = {clean_text(pair.key): from_message(pair.value, 1) for pair in pairs[:MAX_ATTRIBUTES]}
    return attributes, max(0, len(pairs) - MAX_ATTRIBUTES)


def from_json(value: object, depth: int = 0) -> Any:
    """Convert an AnyValue of OTLP/JSON to a plain value. Raises `FormatError`."""
    if isinstance(value, dict):
        for kind, inner in value.items():
            read = _READERS.get(kind)
            if read is not None and inner is not None:
                return read(inner, depth)
        return None
    if value is None:
        return None
    raise FormatError(f'a value is an object such as {{"stringValue": "…"}}, not {json_type_name(value)}.')


def attributes_from_json(body: dict[str, object], name: str = "attributes") -> tuple[dict[str, Any], int]:
    """Convert the list of this name to a dictionary, and count its entries beyond the bound. Raises `FormatError`."""
    if isinstance(body.get(name), dict):
        raise FormatError(OBJECT_HINT, name)
    pairs = list_field(body, name)
    attributes = dict(read_at(f"{name}[{index}]", _pair, pair) for index, pair in enumerate(pairs[:MAX_ATTRIBUTES]))
    return attributes, max(0, len(pairs) - MAX_ATTRIBUTES)


def _pair(value: object) -> tuple[str, Any]:
    return _key(value), from_json(as_object(value).get("value"), 1)


def _key(value: object) -> str:
    key = as_object(value).get("key", "")
    if isinstance(key, str):
        return clean_text(key)
    raise FormatError(f"a key is text, not {json_type_name(key)}.", "key")


def _string(value: object, depth: int) -> str:
    if isinstance(value, str):
        return clean_text(value)
    raise FormatError(f"stringValue is text, not {json_type_name(value)}.")


def _bool(value: object, depth: int) -> bool:
    if isinstance(value, bool):
        return value
    raise FormatError(f"boolValue is true or false, not {json_type_name(value)}.")


def _int(value: object, depth: int) -> Any:
    if isinstance(value, str) and len(value) <= 20:
        value = _number_from_text(value, int)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FormatError("intValue is a whole number, or its digits as text.")
    return clean_number(value)


def _double(value: object, depth: int) -> Any:
    if isinstance(value, str):  # "NaN", "Infinity", "-Infinity", or a number as text
        value = _number_from_text(value, float)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"doubleValue is a number, not {json_type_name(value)}.")
    return clean_number(value)


def _number_from_text(value: str, read: Callable[[str], float]) -> float | None:
    try:
        return read(value)
    except ValueError:
        return None


def _bytes(value: object, depth: int) -> dict[str, str]:
    if not isinstance(value, str):
        raise FormatError(f"bytesValue is base64 text, not {json_type_name(value)}.")
    try:
        return {"base64": base64.b64encode(base64.b64decode(value, validate=True)).decode()}
    except (binascii.Error, ValueError) as error:
        raise FormatError("bytesValue is not base64.") from error


def _array(value: object, depth: int) -> Any:
    items = list_field(as_object(value), "values")
    return TOO_DEEP if depth >= MAX_DEPTH else [from_json(item, depth + 1) for item in items[:MAX_ITEMS]]


def _kvlist(value: object, depth: int) -> Any:
    pairs = list_field(as_object(value), "values")
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    return {_key(pair): from_json(as_object(pair).get("value"), depth + 1) for pair in pairs[:MAX_ITEMS]}


_READERS: dict[str, Callable[[Any, int], Any]] = {
    "stringValue": _string,
    "intValue": _int,
    "boolValue": _bool,
    "doubleValue": _double,
    "arrayValue": _array,
    "kvlistValue": _kvlist,
    "bytesValue": _bytes,
}
