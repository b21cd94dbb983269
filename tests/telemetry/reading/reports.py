"""Small reports of agents that run elsewhere, as OTLP/JSON with the GenAI conventions' names."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

SECOND = 1_000_000_000
START = 1_795_000_000 * SECOND
"""The tests' clock stands there."""


def value(content: Any) -> dict[str, Any]:
    if isinstance(content, bool):
        return {"boolValue": content}
    if isinstance(content, int):
        return {"intValue": str(content)}
    if isinstance(content, float):
        return {"doubleValue": content}
    if isinstance(content, list):
        return {"arrayValue": {"values": [value(each) for each in content]}}
    return {"stringValue": content}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(content)} for name, content in values.items()]


def span(
    trace: int, number: int, name: str, /, parent: int = 0, at: float = 0.0, takes: float = 1.0, **more: Any
) -> Any:
    """One span. Names of attributes have ``__`` for a dot; ``fails`` is what it failed with."""
    fails = more.pop("fails", "")
    report: dict[str, Any] = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(START + int(at * SECOND)),
        "endTimeUnixNano": str(START + int((at + takes) * SECOND)),
        "attributes": attributes({key.replace("__", "."): content for key, content in more.items()}),
    }
    if parent:
        report["parentSpanId"] = f"{parent:016x}"
    if fails:
        report["status"] = {"code": 2, "message": fails}
    return report


def text(role: str, *texts: str) -> str:
    """Messages of one role."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": content}]} for content in texts])


def turn(trace: int, asked: str = "How warm is it?", answered: str = "It is 18 degrees.", **more: Any) -> list[Any]:
    """An agent's turn: a model call that asks for a tool, the tool, and the call that answers; in the order
    in which they end, the root last."""
    at = more.pop("at", 0.0)
    messages: dict[str, Any] = {
        "gen_ai__input__messages": text("user", asked),
        "gen_ai__output__messages": text("assistant", answered),
    }
    call = json.dumps(
        [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "call_1", "name": "weather", "arguments": {"city": "Rome"}}],
            }
        ]
    )
    model = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o", "gen_ai__provider__name": "openai"}
    usage = {"gen_ai__usage__input_tokens": 20, "gen_ai__usage__output_tokens": 5}
    tool = {
        "gen_ai__operation__name": "execute_tool",
        "gen_ai__tool__name": "weather",
        "gen_ai__tool__call__id": "call_1",
    }
    args = {"gen_ai__tool__call__arguments": '{"city": "Rome"}', "gen_ai__tool__call__result": "18 degrees"}
    root: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "forecaster"}
    attributes_ = {"gen_ai__conversation__id": "talk-1", **more}
    first = {**model, **usage, "gen_ai__input__messages": text("user", asked), "gen_ai__output__messages": call}
    return [
        span(trace, 2, "chat gpt-4o", parent=1, at=at + 0.1, takes=1.0, **first),
        span(trace, 3, "execute_tool weather", parent=1, at=at + 1.2, takes=0.5, **tool, **args),
        span(trace, 4, "chat gpt-4o", parent=1, at=at + 1.8, takes=1.0, **model, **usage, **messages),
        span(trace, 1, "invoke_agent forecaster", at=at, takes=3.0, **root, **attributes_, **messages),
    ]


def request(*spans: Any, **resource: Any) -> dict[str, Any]:
    """The body of a request to ``/v1/traces``."""
    named = attributes({"service.name": "tests", **resource})
    return {
        "resourceSpans": [
            {"resource": {"attributes": named}, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}
        ]
    }


def send(client: Client, *spans: Any) -> None:
    """Report these spans, as an exporter does."""
    answer = client.post("/v1/traces", json.dumps(request(*spans)), content_type="application/json")
    assert answer.status_code == 200, answer.content


def delegated(trace: int, below: str = "finder") -> list[Any]:
    """A turn of an agent, the desk, whose model is asked, and of another below it, whose model is asked and whose tool
    fails."""
    model = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}
    usage = {"gen_ai__usage__input_tokens": 20, "gen_ai__usage__output_tokens": 5}
    said = {"gen_ai__input__messages": text("user", "Where?"), "gen_ai__output__messages": text("assistant", "There.")}
    call: dict[str, Any] = {**model, **usage, **said}
    desk: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "desk"}
    other = {**desk, "gen_ai__agent__name": below}
    tool: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "search"}
    return [
        span(trace, 1, "invoke_agent desk", takes=9, **desk),
        span(trace, 2, "chat", parent=1, **call),
        span(trace, 3, f"invoke_agent {below}", parent=1, at=2, takes=5, **other),
        span(trace, 4, "chat", parent=3, at=3, **call),
        span(trace, 5, "search", parent=3, at=4, **tool, fails="timeout"),
    ]
