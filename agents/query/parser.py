"""Parse a query text, or a tree as JSON, into a `Query`. The grammar itself is in `reader`.

Every error in a query is a `QuerySyntax` with its position.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from agents.base.errors import InvalidRequest, QuerySyntax
from agents.query.reader import QueryReader
from agents.query.scanner import Scanner, excerpt, refuse_long, refuse_unreadable
from agents.query.times import Now
from agents.query.tree import NODE, Level, Query
from agents.query.writer import tree_text

_MAX_JSON_DEPTH = 100
_MAX_JSON_VALUES = 2_000


def parse(text: str, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Parse a query text. Relative times count from ``now_us``, days are those of ``zone`` (an IANA name),
    ``level`` is that of the rows to select. Raises QuerySyntax; InvalidRequest for ``zone``."""
    refuse_unreadable(text)
    tree = QueryReader(Scanner(text), Now(now_us, _zone(zone))).read_query()
    normal = tree_text(tree)
    refuse_long(normal)
    return Query(text=normal, tree=tree, level=level)


def read(source: str, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Parse a query that is a text or a tree in JSON. Raises as `parse`."""
    if not source.lstrip().startswith("{"):
        return parse(source, now_us=now_us, zone=zone, level=level)
    try:
        data = json.loads(source)
    except (ValueError, RecursionError):
        raise QuerySyntax("This begins like a tree in JSON, and is none", position=0) from None
    return from_json(data, now_us=now_us, zone=zone, level=level)


def from_json(data: Any, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Parse a tree that is decoded JSON. It is written as text and parsed again, so one set of rules holds
    for both; a period's ``low_us`` and ``high_us`` count only where it has no ``text``. Positions of
    errors are those in the written text, 0 where the JSON is no tree at all."""
    _refuse_large(data)
    try:
        tree = NODE.validate_python(data)
    except ValidationError as error:
        raise QuerySyntax(f"This is no query tree: {_first_error(error)}", position=0) from None
    return parse(tree_text(tree), now_us=now_us, zone=zone, level=level)


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    location = ".".join(str(key) for key in first["loc"])
    return f"{location}: {first['msg']}" if location else first["msg"]


def _refuse_large(data: Any) -> None:
    """Check depth and size layer by layer, before anything recursive walks the tree."""
    layer, count = [data], 0
    for _ in range(_MAX_JSON_DEPTH):
        layer = [child for node in layer for child in _children(node)]
        count += len(layer)
        if not layer:
            return
        if count > _MAX_JSON_VALUES:
            break
    raise QuerySyntax("This query tree is too large", position=0)


def _children(data: Any) -> Iterable[Any]:
    if isinstance(data, dict):
        return data.values()
    return data if isinstance(data, list | tuple) else ()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidRequest(f"Unknown time zone {excerpt(name)}", param="tz") from None
