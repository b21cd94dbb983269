"""Decoder of spans as Phoenix exports them: ``GET /v1/projects/{project}/spans``, and ``get_spans_dataframe()`` as
JSON or Parquet (both read in its source, not run).

``{"data": [span, …]}``, a list of spans, or one span. Attributes are OpenInference's flattened names; where they are
nested (exports of older clients) they are flattened again, and ``span_kind`` is put back among them as
``openinference.span.kind``. A row of the dataframe has the columns ``context.span_id``, ``context.trace_id`` and one
for each attribute, ``attributes.llm.input_messages``, whose value may be nested; cells of other spans' attributes are
null. Format "phoenix".
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
_WHOLE = frozenset({"tool.parameters", "llm.invocation_parameters", "llm.prompt_template.variables"})
"""Attributes that are objects, whose keys are the program's own."""
_ATTRIBUTES = "attributes."
_SPAN_COLUMN, _TRACE_COLUMN = "context.span_id", "context.trace_id"
_REJECTION_REASON = "its trace id or span id is not OpenTelemetry's."
_NO_SPAN = "a span has a context with trace_id and span_id; a row of the dataframe has context.trace_id."
_NO_SPAN_ID = (
    "no row has context.span_id: where it is the dataframe's index, write df.reset_index() with "
    "to_json(…, orient='records', lines=True)."
)


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode all spans of the body."""
    items = [read_at(f"data[{index}]", as_object, item) for index, item in enumerate(_items(body))]
    spans = [span for span in map(_span, items) if span.trace and span.id]
    rejected = len(items) - len(spans)
    if rejected and not spans:
        if all(_TRACE_COLUMN in item and _SPAN_COLUMN not in item for item in items):
            raise FormatError(_NO_SPAN_ID, _SPAN_COLUMN)
        raise FormatError("no span has a context with OpenTelemetry's trace_id and span_id.", "data")
    return Decoded(spans, rejected, rejection_summary(rejected, "span", _REJECTION_REASON))


def _items(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = as_object(body)
    if "context" in holder or _TRACE_COLUMN in holder:
        return [body]
    if "data" not in holder:
        raise FormatError(_NO_SPAN, "context")
    return list_field(holder, "data")


def is_row(item: dict[str, object]) -> bool:
    """Tell whether this is a row of the dataframe."""
    return _TRACE_COLUMN in item and "span_kind" in item


def _of_row(row: dict[str, object]) -> dict[str, object]:
    """Return a row as a span."""
    attributes = {name.removeprefix(_ATTRIBUTES): row[name] for name in row if name.startswith(_ATTRIBUTES)}
    present = {name: value for name, value in attributes.items() if value is not None}
    return {**row, "context": {"trace_id": row[_TRACE_COLUMN], "span_id": row.get(_SPAN_COLUMN)}, "attributes": present}


def _span(item: dict[str, object]) -> Span:
    item = _of_row(item) if _TRACE_COLUMN in item else item
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
    flat: dict[str, Any] = {}
    for name, inner in attributes.items():
        if isinstance(inner, (dict, list)) and name.partition(".")[0] in _NESTED:
            _flatten(name, inner, flat, 0)
        else:
            flat[name] = inner
    return flat


def _flatten(name: str, value: Any, flat: dict[str, Any], depth: int) -> None:
    """Flatten ``{"llm": {"input_messages": [{…}]}}`` to ``llm.input_messages.0.…``; lists of plain values stay
    lists."""
    if len(flat) >= MAX_ATTRIBUTES or value is None:  # Parquet has each key of any row in all of them
        return
    if depth < MAX_DEPTH and isinstance(value, dict) and value and name not in _WHOLE:
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
