"""Decoder of spans as Phoenix exports them: ``GET /v1/projects/{project}/spans`` (read in its source, not run).

``{"data": [span, …]}``, a list of spans, or one span. Attributes are OpenInference's flattened names; where they are
nested (exports of older clients) they are flattened again, and ``span_kind`` is put back among them as
``openinference.span.kind``. Format "phoenix".
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import otlp_ids
from agents.telemetry.reading.decoding import (
    Decoded,
    FormatError,
    as_object,
    list_field,
    raises_invalid_request,
    read_at,
    rejection_summary,
    text_field,
)
from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, MAX_DEPTH, clean_attributes, dicts
from agents.telemetry.reading.spans import Span, SpanEvent
from agents.telemetry.reading.timestamps import nanoseconds

_KIND = "openinference.span.kind"
_NESTED = frozenset(
    {"llm", "input", "output", "tool", "retrieval", "reranker", "embedding", "openinference", "session"}
)
_REJECTION_REASON = "its trace id or span id is not OpenTelemetry's."


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode all spans of the body."""
    items = [read_at(f"data[{index}]", as_object, item) for index, item in enumerate(_items(body))]
    spans = [span for span in map(_span, items) if span.trace and span.id]
    rejected = len(items) - len(spans)
    if rejected and not spans:
        raise FormatError("no span has a context with OpenTelemetry's trace_id and span_id.", "data")
    return Decoded(spans, rejected, rejection_summary(rejected, "span", _REJECTION_REASON))


def _items(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = as_object(body)
    return [body] if "context" in holder else list_field(holder, "data")


def _span(item: dict[str, object]) -> Span:
    context = item.get("context")
    context = context if isinstance(context, dict) else {}
    attributes = _flat_attributes(item.get("attributes"))
    if text_field(item, "span_kind"):
        attributes.setdefault(_KIND, text_field(item, "span_kind"))
    return Span(
        trace=otlp_ids.id_from_text(context.get("trace_id"), otlp_ids.TRACE_BYTES),
        id=otlp_ids.id_from_text(context.get("span_id"), otlp_ids.SPAN_BYTES),
        parent=otlp_ids.id_from_text(item.get("parent_id"), otlp_ids.SPAN_BYTES),
        name=text_field(item, "name"),
        start_ns=nanoseconds(item.get("start_time")),
        end_ns=nanoseconds(item.get("end_time")),
        failed=text_field(item, "status_code") == "ERROR",
        message=text_field(item, "status_message"),
        attributes=attributes,
        events=_events(item.get("events")),
        format="phoenix",
    )


def _flat_attributes(value: object) -> dict[str, Any]:
    attributes = clean_attributes(value)
    nested = {name: attributes.pop(name) for name in _NESTED & attributes.keys() if isinstance(attributes[name], dict)}
    for name, inner in nested.items():
        _flatten(name, inner, attributes, 0)
    return attributes


def _flatten(name: str, value: Any, flat: dict[str, Any], depth: int) -> None:
    """Flatten ``{"llm": {"input_messages": [{…}]}}`` to ``llm.input_messages.0.…``; lists of plain values stay
    lists."""
    if len(flat) >= MAX_ATTRIBUTES:
        return
    if depth < MAX_DEPTH and isinstance(value, dict) and value:
        for key, inner in value.items():
            _flatten(f"{name}.{key}", inner, flat, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for index, inner in enumerate(value):
            _flatten(f"{name}.{index}", inner, flat, depth + 1)
    else:
        flat[name] = value


def _events(value: object) -> list[SpanEvent]:
    return [_event(event) for event in dicts(value)]


def _event(event: dict[str, Any]) -> SpanEvent:
    attributes = clean_attributes(event.get("attributes"))
    for name in ("message", "exception.message"):
        if text_field(event, name):
            attributes.setdefault("exception.message", text_field(event, name))
    return SpanEvent(name=text_field(event, "name"), at_ns=nanoseconds(event.get("timestamp")), attributes=attributes)
