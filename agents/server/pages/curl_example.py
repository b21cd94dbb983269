"""Builds example curl commands of the API, with the smallest body that a schema allows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_EXAMPLES: dict[str, Any] = {
    "model": "demo",
    "instructions": "Be brief.",
    "session_name": "first",
    "content": "Hello!",
}
"""Values of members by name, so that an example runs unchanged."""
_BY_TYPE: dict[str, Any] = {"string": "…", "integer": 0, "number": 0, "boolean": False, "object": {}, "null": None}
DEPTH = 8


def curl(method: str, path: str, body: Mapping[str, Any] | None, schemas: Mapping[str, Any]) -> str:
    """Return the ``curl`` command of an operation. The reader sets ``$API`` and ``$KEY``; a parameter of the path
    becomes a shell variable of its name."""
    url_path = re.sub(r"{(\w+)}", r"$\1", path)
    is_implied = method == "get" or (method == "post" and body is not None)
    verb = "" if is_implied else f"-X {method.upper()} "
    lines = [f'curl {verb}"$API{url_path}"', '-H "Authorization: Bearer $KEY"']
    if body is not None:
        text = json.dumps(_value(body, schemas, "", DEPTH), ensure_ascii=False, indent=2)
        lines += ["-H 'Content-Type: application/json'", "-d '{}'".format(text.replace("'", "'\\''"))]
    return " \\\n  ".join(lines)


def _value(schema: Mapping[str, Any], schemas: Mapping[str, Any], name: str, depth: int) -> Any:
    if "$ref" in schema:
        referenced = schemas.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _value(referenced, schemas, name, depth - 1) if depth else {}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            return _value(schema[keyword][0], schemas, name, depth)
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
    return _EXAMPLES.get(name, _BY_TYPE.get(str(kind)))


def _members(schema: Mapping[str, Any], schemas: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Return the required members and the constants that discriminate between kinds of objects."""
    return {
        member: _value(inner, schemas, member, depth)
        for member, inner in schema["properties"].items()
        if member in schema.get("required", ()) or "const" in inner
    }
