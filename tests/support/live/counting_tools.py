"""Tools with effects that are counted outside of the server that runs them: at COUNTING_URL."""

from __future__ import annotations

import json
import os
import urllib.request

from turnlog.tools import ToolContext


def _count(tool: str, order: str, context: ToolContext) -> str:
    body = json.dumps({"tool": tool, "order": order, "key": context.call_key}).encode()
    request = urllib.request.Request(os.environ["COUNTING_URL"], body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.load(answer)["said"])


def look_up(order: str, context: ToolContext) -> str:
    """Look an order up."""
    return _count("look_up", order, context)


def reserve(order: str, context: ToolContext) -> str:
    """Reserve the goods of an order; a second time with the same key does nothing."""
    return _count("reserve", order, context)


def charge(order: str, context: ToolContext) -> str:
    """Charge for an order, each time it is called."""
    return _count("charge", order, context)


look_up.repeat = "read"  # type: ignore[attr-defined]  # how a function says it
reserve.repeat = "idempotent"  # type: ignore[attr-defined]  # how a function says it
