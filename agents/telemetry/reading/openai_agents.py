"""Decoder of the tracing of OpenAI's Agents SDK (``openai-agents`` 0.24): ``POST /v1/traces/ingest``, JSON.

``{"data": [trace | trace.span, …]}``. Both become a `Span` of the format "openai_agents", whose attributes are the
object's own fields as they came, but for ids and times:

* the trace, sent once and when it begins, has the id ``trace``, no times, and ``object`` ("trace"),
  ``workflow_name``, ``group_id``, ``metadata``;
* a span has ``object`` ("trace.span"), ``span_data`` (``type`` and the fields of that type), ``error``, ``metadata``.
  Its parent is the trace where it names none. Its name is the one in ``span_data``, else the type.

Fields that are null are left out.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.decoding import (
    Decoded,
    FormatError,
    as_object,
    identifier,
    list_field,
    raises_invalid_request,
    read_at,
    rejection_summary,
    text_field,
)
from agents.telemetry.reading.sanitize import clean_attributes
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.timestamps import nanoseconds

TRACE = "trace"
_SEPARATE_FIELDS = frozenset({"id", "trace_id", "parent_id", "started_at", "ended_at"})


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode a request's body. Other objects than traces and spans are ignored."""
    request = as_object(body)
    if "data" not in request:
        raise FormatError('the field is missing: the body is {"data": [ … ]}.', "data")
    items = [read_at(f"data[{index}]", as_object, item) for index, item in enumerate(list_field(request, "data"))]
    reported = [item for item in items if item.get("object") in ("trace", "trace.span")]
    spans = [span for span in map(_span, reported) if span.trace and span.id]
    rejected = len(reported) - len(spans)
    if rejected and not spans:
        raise FormatError("no trace and no span has its ids.", "data")
    return Decoded(
        spans,
        rejected,
        rejection_summary(rejected, "span", "it has no id, or no trace_id."),
        len(items) - len(reported),
    )


def _span(item: dict[str, object]) -> Span:
    attributes = clean_attributes(
        {name: value for name, value in item.items() if name not in _SEPARATE_FIELDS and value is not None}
    )
    if item["object"] == "trace":
        name = text_field(item, "workflow_name")
        return Span(
            trace=identifier(item.get("id")), id=TRACE, name=name, attributes=attributes, format="openai_agents"
        )
    return Span(
        trace=identifier(item.get("trace_id")),
        id=identifier(item.get("id")),
        parent=identifier(item.get("parent_id")) or TRACE,
        name=_name(item.get("span_data")),
        start_ns=nanoseconds(item.get("started_at")),
        end_ns=nanoseconds(item.get("ended_at")),
        failed=bool(item.get("error")),
        message=_message(item.get("error")),
        attributes=attributes,
        format="openai_agents",
    )


def _name(data: Any) -> str:
    return text_field(data, "name") or text_field(data, "type") if isinstance(data, dict) else ""


def _message(error: Any) -> str:
    return text_field(error, "message") if isinstance(error, dict) else ""
