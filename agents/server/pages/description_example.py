"""A request of the API as a line for a shell, with the smallest body that its schema allows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_SAID: dict[str, Any] = {
    "model": "demo",
    "instructions": "Be brief.",
    "session_name": "first",
    "content": "Hello!",
}
"""What members of these names say, so that an example can be run as it stands."""
_BY_TYPE: dict[str, Any] = {"string": "…", "integer": 0, "number": 0, "boolean": False, "object": {}, "null": None}
DEPTH = 8


def curl(method: str, path: str, body: Mapping[str, Any] | None, schemas: Mapping[str, Any]) -> str:
    """``curl …`` for an operation; ``$API`` and ``$KEY`` are the reader's, and a place in the path is a
    variable of its name."""
    place = re.sub(r"{(\w+)}", r"$\1", path)
    understood = method == "get" or (method == "post" and body is not None)
    verb = "" if understood else f"-X {method.upper()} "
    lines = [f'curl {verb}"$API{place}"', '-H "Authorization: Bearer $KEY"']
    if body is not None:
        text = json.dumps(_value(body, schemas, "", DEPTH), ensure_ascii=False, indent=2)
        lines += ["-H 'Content-Type: application/json'", "-d '{}'".format(text.replace("'", "'\\''"))]
    return " \\\n  ".join(lines)


def _value(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str, depth: int) -> Any:
    if "$ref" in schema:
        found = schemas.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _value(found, schemas, name, depth - 1) if depth else {}
    for words in ("anyOf", "oneOf", "allOf"):
        if schema.get(words):
            return _value(schema[words][0], schemas, name, depth)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_value(schema.get("items", {}), schemas, name, depth)]
    if "properties" in schema:
        return _members(schema, schemas, depth)
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return _SAID.get(name, _BY_TYPE.get(str(kind)))


def _members(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """What must be there, and what tells one kind of object from another."""
    return {
        member: _value(inner, schemas, member, depth)
        for member, inner in schema["properties"].items()
        if member in schema.get("required", ()) or "const" in inner
    }
