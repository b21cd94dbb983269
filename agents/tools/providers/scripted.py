"""Tools that need nothing from outside: for the demo agent, and for trying the loop.

They belong to a small shop that does not exist. The same arguments always give the same answer.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agents.loop.protocols.tools import Repeat, ToolContext, ToolResult
from agents.record.schemas.content import ToolDef, ToolParameter

GROUP = "builtin::demo"


@dataclass(frozen=True)
class ScriptedTool:
    """A function of its arguments, with a little time to take."""

    definition: ToolDef
    answer: Callable[[dict[str, Any]], ToolResult]
    takes_s: float = 0.0
    group: str = GROUP
    repeat: Repeat = "read"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        if self.takes_s:
            await asyncio.sleep(self.takes_s)
        return self.answer(arguments)


def _json(**fields: Any) -> ToolResult:
    return ToolResult(content=json.dumps(fields, ensure_ascii=False))


def _number(text: str, below: int) -> int:
    return zlib.crc32(text.encode(errors="replace")) % below


def _lookup_order(arguments: dict[str, Any]) -> ToolResult:
    order = str(arguments.get("order", "")).strip()
    if not order.isdecimal():
        message = f"There is no order {order[:40]!r}: an order is a number."
        return ToolResult(content=message, error=message)
    total = 20 + _number(order, 18_000) / 100
    states = ("paid", "shipped", "delivered", "returned")
    return _json(order=int(order[:9]), status=states[_number(order, 4)], total=round(total, 2), currency="EUR")


def _get_weather(arguments: dict[str, Any]) -> ToolResult:
    city = str(arguments.get("city", "")).strip() or "nowhere"
    skies = ("clear", "cloudy", "rain", "snow", "fog")
    return _json(city=city[:80], sky=skies[_number(city, 5)], celsius=_number(city + "t", 35) - 5)


def _web_search(arguments: dict[str, Any]) -> ToolResult:
    query = str(arguments.get("query", ""))[:200]
    if "timeout" in query.lower():
        message = "504 from the search provider after 20 s"
        return ToolResult(content=message, error=message)
    results = [
        {"title": f"{query.title()} explained", "url": "https://example.org/guide", "snippet": f"All about {query}."},
        {"title": f"A short history of {query}", "url": "https://example.org/history", "snippet": "It began long ago."},
    ]
    return _json(query=query, results=results)


def _text(name: str, description: str) -> ToolParameter:
    return ToolParameter(name=name, parameter_type="string", description=description)


def tools(pace: float = 1.0) -> list[ScriptedTool]:
    """The demo's tools; ``pace`` 0 makes them answer at once."""
    order = ToolParameter(name="order", parameter_type="integer", description="The order's number")
    definitions = [
        (ToolDef(name="lookup_order", description="Look up an order", parameters=[order]), _lookup_order, 0.35),
        (
            ToolDef(name="get_weather", description="The weather now", parameters=[_text("city", "A city")]),
            _get_weather,
            0.2,
        ),
        (
            ToolDef(name="web_search", description="Search the web", parameters=[_text("query", "What to look for")]),
            _web_search,
            0.6,
        ),
    ]
    return [ScriptedTool(definition, answer, takes * pace) for definition, answer, takes in definitions]
