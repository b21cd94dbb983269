"""Decoder of MLflow's traces as ``Trace.to_json()`` writes them (3.x, and the older form of 2.x).

``{"info": {"trace_metadata", "tags", …}, "data": {"spans": [ … ]}}``, one, a list of them, or ``{"traces": [ … ]}``.
Ids are base64 (2.x: hex behind ``0x``) and become OpenTelemetry's hex, so that a trace which also came over OTLP is
the same one. Spans have the format "mlflow"; attributes are the span's own: ``mlflow.spanType``,
``mlflow.spanInputs``, …, all JSON inside text. Those at the top get ``trace_metadata`` too (``mlflow.trace.session``,
``mlflow.trace.user``, …); ``tags`` (``service.name``, …) are the resource of all.
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
from agents.telemetry.reading.sanitize import clean_attributes, dicts
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink
from agents.telemetry.reading.timestamps import nanoseconds

_FAILED = ("ERROR", "STATUS_CODE_ERROR")
_REJECTION_REASON = "its trace id or span id is missing or is not MLflow's."


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode all spans of one trace or of several."""
    spans: list[Span] = []
    rejected = 0
    for index, trace in enumerate(_traces(body)):
        decoded = read_at(f"[{index}]", _spans, trace)
        valid = [span for span in decoded if span.trace and span.id]
        spans += valid
        rejected += len(decoded) - len(valid)
    return Decoded(spans, rejected, rejection_summary(rejected, "span", _REJECTION_REASON))


def _traces(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = as_object(body)
    return list_field(holder, "traces") if "traces" in holder and "data" not in holder else [body]


def _spans(value: object) -> list[Span]:
    trace = as_object(value)
    if "data" not in trace:
        raise FormatError('a trace of MLflow is {"info": { … }, "data": {"spans": [ … ]}}.', "data")
    info = read_at("info", as_object, trace.get("info") or {})
    data = read_at("data", as_object, trace["data"])
    trace_attributes = clean_attributes(info.get("trace_metadata") or info.get("request_metadata"))
    resource = clean_attributes(info.get("tags"))
    items = enumerate(list_field(data, "spans"))
    return [
        _span(read_at(f"data.spans[{index}]", as_object, item), trace_attributes, resource) for index, item in items
    ]


def _span(item: dict[str, object], trace_attributes: dict[str, Any], resource: dict[str, Any]) -> Span:
    context = clean_attributes(item.get("context")) or item
    status = item.get("status")
    status = (
        status if isinstance(status, dict) else {"code": item.get("status_code"), "message": item.get("status_message")}
    )
    parent = _id(item.get("parent_span_id") or item.get("parent_id"), otlp_ids.SPAN_BYTES)
    attributes = clean_attributes(item.get("attributes"))
    return Span(
        trace=_id(context.get("trace_id"), otlp_ids.TRACE_BYTES),
        id=_id(context.get("span_id"), otlp_ids.SPAN_BYTES),
        parent=parent,
        name=text_field(item, "name"),
        start_ns=nanoseconds(item.get("start_time_unix_nano") or item.get("start_time")),
        end_ns=nanoseconds(item.get("end_time_unix_nano") or item.get("end_time")),
        failed=status.get("code") in _FAILED,
        message=text_field(status, "message"),
        attributes=attributes if parent else {**trace_attributes, **attributes},
        events=_events(item.get("events")),
        resource=resource,
        format="mlflow",
        links=_links(item.get("links")),
    )


def _id(value: object, length: int) -> str:
    return otlp_ids.id_from_text(value.removeprefix("0x") if isinstance(value, str) else value, length)


def _events(value: object) -> list[SpanEvent]:
    return [_event(event) for event in dicts(value)]


def _event(event: dict[str, Any]) -> SpanEvent:
    at = nanoseconds(event.get("time_unix_nano") or event.get("timestamp"))
    return SpanEvent(name=text_field(event, "name"), at_ns=at, attributes=clean_attributes(event.get("attributes")))


def _links(value: object) -> list[SpanLink]:
    links = [
        SpanLink(
            _id(link.get("trace_id"), otlp_ids.TRACE_BYTES),
            _id(link.get("span_id"), otlp_ids.SPAN_BYTES),
            clean_attributes(link.get("attributes")),
        )
        for link in dicts(value)
    ]
    return [link for link in links if link.trace and link.span]
