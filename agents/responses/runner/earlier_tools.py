"""Finds the tools that came as items before a request: they stay offered for as long as its history has the items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from agents.record.store import items as stored_items
from agents.record.store.history import NewItem
from agents.responses.runner.input import ResponseTarget
from agents.responses.runner.requests import ResponseRequest
from agents.responses.schemas.tools import MAX_TOOLS, ResponseTool, tools_of
from agents.responses.store import tool_items
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.items import items_of_row

JSON = dict[str, Any]
_BRING_TOOLS = ("additional_tools", "tool_search_output")


def before(request: ResponseRequest, target: ResponseTarget) -> list[ResponseTool]:
    """Return the tools of the items before a request, those that came last first."""
    copied = request.earlier if request.earlier is not None else target.earlier
    if copied or target.session is None:
        return _tools(_copied(copied))
    query = stored_items.up_to(target.after) if target.after is not None else stored_items.of_session(target.session)
    return _tools(_stored(query))


def of_response(record: ResponseRecord) -> list[ResponseTool]:
    """Return the tools of the items in the input of a stored response, its history included."""
    return _tools(_stored(stored_items.input_of(record)))


def _stored(query: stored_items.ItemQuery) -> Iterable[JSON]:
    return (item for row in tool_items.last(query) for item in items_of_row(row))


def _copied(rows: Sequence[NewItem]) -> Iterable[JSON]:
    newest = [row.wire for row in reversed(rows) if row.wire.startswith(tool_items.BEGINNINGS)]
    return map(msgspec.json.decode, newest[: tool_items.MAX_ITEMS])


def _tools(items: Iterable[JSON]) -> list[ResponseTool]:
    tools = [tool for item in items if item.get("type") in _BRING_TOOLS for tool in _readable(item.get("tools"))]
    return tools[:MAX_TOOLS]


def _readable(raw: Any) -> list[ResponseTool]:
    try:
        return tools_of(raw or [])
    except ValidationError:  # stored by a version that allowed more
        return []
