"""Spans with sensible defaults, for tests that need only some of what a sender says."""

from __future__ import annotations

import json
from typing import Any

from agents.telemetry.reading.spans import Span

SECOND = 1_000_000_000
START = 1_795_000_000 * SECOND
"""20 November 2026: what the moments of tests are seconds from."""


def span(
    id_: str, *, at: float = 0, took: float | None = 1, parent: str = "", trace: str = "t1", name: str = "", **more: Any
) -> Span:
    """A span; ``at`` and ``took`` are seconds, ``took`` None one that still goes on."""
    start_ns = START + round(at * SECOND)
    return Span(
        trace=trace,
        id=id_,
        parent=parent,
        name=name or id_,
        start_ns=start_ns,
        end_ns=0 if took is None else start_ns + round(took * SECOND),
        **more,
    )


def agent(id_: str = "agent", name: str = "helper", **more: Any) -> Span:
    return _with(
        span(id_, **{"took": 10, **more}), {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    )


def model(
    id_: str, *messages: dict[str, Any], answer: str = "", calls: tuple[tuple[str, str, Any], ...] = (), **more: Any
) -> Span:
    """A model's call: its history, and its answer or the calls ``(id, name, arguments)`` it asked for."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": answer}] if answer else []
    parts += [
        {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls
    ]
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    if messages:
        attributes["gen_ai.input.messages"] = json.dumps(messages)
    if parts:
        attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": parts}])
    return _with(span(id_, **more), attributes)


def tool(id_: str, name: str = "look", **more: Any) -> Span:
    return _with(span(id_, **more), {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def requested_call(call: str, name: str = "look") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call, "function": {"name": name, "arguments": "{}"}}],
    }


def tool_result(call: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": text}


def _with(span_: Span, attributes: dict[str, Any]) -> Span:
    span_.attributes = {**attributes, **span_.attributes}
    return span_
