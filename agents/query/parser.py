"""Query text, or a tree as JSON, to a `Query`. The grammar itself is in `reader`.

All that can be wrong with a query is a `QuerySyntax` with the position where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from agents.base.errors import InvalidRequest, QuerySyntax
from agents.query.reader import Reader
from agents.query.scanner import Scanner, refuse_long, refuse_unreadable, shown
from agents.query.times import Now
from agents.query.tree import NODE, Level, Query
from agents.query.writer import written

_MAX_JSON_DEPTH = 100
_MAX_JSON_VALUES = 2_000


def parse(text: str, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Read a query. ``now_us`` is what relative times count from, ``zone`` (an IANA name) the
    viewer's days, ``level`` that of the rows wanted. Raises QuerySyntax; InvalidRequest for ``zone``."""
    refuse_unreadable(text)
    tree = Reader(Scanner(text), Now(now_us, _zone(zone))).whole()
    normal = written(tree)
    refuse_long(normal)
    return Query(text=normal, tree=tree, level=level)


def read(given: str, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Read a query, given as text or as a tree in JSON. Raises as `parse`."""
    if not given.lstrip().startswith("{"):
        return parse(given, now_us=now_us, zone=zone, level=level)
    try:
        data = json.loads(given)
    except (ValueError, RecursionError):
        raise QuerySyntax("This begins like a tree in JSON, and is none", position=0) from None
    return from_json(data, now_us=now_us, zone=zone, level=level)


def from_json(data: Any, *, now_us: int, zone: str = "UTC", level: Level = "turn") -> Query:
    """Read a tree as decoded JSON. It is written as text and read again, so one set of rules holds
    for both; a period's ``low_us`` and ``high_us`` count only where it has no ``text``. Positions
    are those in the written text, 0 where the JSON is no tree at all."""
    _refuse_large(data)
    try:
        tree = NODE.validate_python(data)
    except ValidationError as wrong:
        raise QuerySyntax(f"This is no query tree: {_first_error(wrong)}", position=0) from None
    return parse(written(tree), now_us=now_us, zone=zone, level=level)


def _first_error(wrong: ValidationError) -> str:
    first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(each) for each in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _refuse_large(data: Any) -> None:
    """Look at depth and size, layer by layer, before anything recursive does."""
    layer, seen = [data], 0
    for _ in range(_MAX_JSON_DEPTH):
        layer = [child for each in layer for child in _children(each)]
        seen += len(layer)
        if not layer:
            return
        if seen > _MAX_JSON_VALUES:
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
        raise InvalidRequest(f"Unknown time zone {shown(name)}", param="tz") from None
