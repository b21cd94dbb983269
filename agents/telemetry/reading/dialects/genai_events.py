"""Events of OpenTelemetry's GenAI senders: of spans (Strands), or in log records that name their span.

``gen_ai.client.inference.operation.details`` carries the span's own names. Older: ``gen_ai.system.message``,
``.user.message``, ``.assistant.message``, ``.tool.message`` and ``gen_ai.choice``, one a message, in the order of
their times; log records have it in their body (openai-v2), span events in attributes whose values are JSON text in
Bedrock's shape (Strands). With capture off, openai-v2 sends the same events with empty bodies: only the ids of
calls are left. A tool's span of Strands has its arguments in a ``tool.message`` and its result in a ``choice``.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, text
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import NO_MESSAGES, HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.spans import Span, SpanEvent

_DETAILS = "gen_ai.client.inference.operation.details"
_DETAIL_NAMES = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
)
_NOTHING: tuple[Any, ...] = (None, "", "[]", [])
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def with_details(span: Span) -> Values:
    """Return the span's attributes, with the messages of the events that describe the call. Some senders have one event
    for all of it, Strands one each for what went in and what came out; of what is said twice the later one counts."""
    values = span.attributes
    for event in sorted((event for event in span.events if event.name == _DETAILS), key=lambda event: event.at_ns):
        details = event.attributes or _body(event)
        values = {**values, **{name: details[name] for name in _DETAIL_NAMES if details.get(name) not in _NOTHING}}
    return values


def add_events(facts: SpanFacts, _: Values, span: Span) -> None:
    """Add the messages of single events where the span itself has none."""
    events = [event for event in span.events if event.name in _ROLES]
    if not events:
        return
    events.sort(key=lambda event: event.at_ns)
    if facts.kind == kinds.TOOL:
        _add_tool(events, facts)
        return
    if facts.input_messages is NO_MESSAGES:
        facts.input_messages = LazyMessages([event for event in events if event.name != "gen_ai.choice"], _messages)
    if facts.output_messages is NO_MESSAGES:
        facts.output_messages = LazyMessages([event for event in events if event.name == "gen_ai.choice"], _messages)
        facts.finish = facts.finish or _finish(events[-1])


def _add_tool(events: list[SpanEvent], facts: SpanFacts) -> None:
    for event in events:
        value = _value(event)
        facts.call_id = facts.call_id or text(value.get("id"))
        if event.name == "gen_ai.choice":
            facts.result = _first(facts.result, value.get("message"))
        elif event.name == "gen_ai.tool.message":
            facts.arguments = _first(facts.arguments, value.get("content"))


def _first(current: Any, value: Any) -> Any:
    return value if current is None else current


def _value(event: SpanEvent) -> dict[str, Any]:
    """Return the body of a log record, else the attributes."""
    return event.body if isinstance(event.body, dict) else _body(event) or event.attributes


def _body(event: SpanEvent) -> dict[str, Any]:
    """Return the body of a log record, an object or its JSON text (Semantic Kernel); empty where it is neither."""
    return mapping(event.body)


def _finish(event: SpanEvent) -> str:
    return text(_value(event).get("finish_reason"))


def _messages(events: list[SpanEvent]) -> list[HistoryMessage]:
    messages: list[HistoryMessage] = []
    for event in events:
        messages.extend(_message(_value(event), _ROLES[event.name]))
    return messages


def _message(value: dict[str, Any], role: str) -> list[HistoryMessage]:
    """Read ``{content, tool_calls, id}``; of a choice ``{message: …}`` with an object, text, or JSON of blocks."""
    inner = value.get("message")
    if isinstance(inner, dict):
        return messages_of({"role": role, **inner, "finish_reason": value.get("finish_reason")}, "assistant")
    content = value.get("content") if inner is None else inner
    shaped: dict[str, Any] = {"role": role, "finish_reason": value.get("finish_reason")}
    if content is not None:
        shaped["content"] = content
    for name in ("tool_calls", "id"):
        if name in value:
            shaped[name] = value[name]
    return messages_of(shaped)
