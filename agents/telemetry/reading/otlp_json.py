"""Decoder of OTLP/JSON: lowerCamelCase, ids in hex, integers of 64 bits as numbers or as text, unknown fields ignored.

A field of the wrong type refuses the whole body, as a protobuf parser does, and the error names its path. Raises
`FormatError`.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import otlp_ids
from agents.telemetry.reading.decoding import FormatError, as_object, json_type_name, list_field, read_at
from agents.telemetry.reading.otlp_ids import Batch
from agents.telemetry.reading.otlp_protobuf import event_name, severity
from agents.telemetry.reading.otlp_values import attributes_from_json, from_json
from agents.telemetry.reading.sanitize import MAX_ITEMS, clean_text, timestamp_ns
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink

_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_NUMBERS: dict[object, int] = {f"SPAN_KIND_{name}": number for number, name in enumerate(_KINDS)}
_NUMBERS |= {"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}
_ERROR = 2

Frame = dict[str, Any]
"""The arguments of `Span` that all spans of a scope share."""


def read_traces(body: dict[str, object], batch: Batch) -> None:
    """Add the spans of an ExportTraceServiceRequest to the batch."""
    for index, group in enumerate(list_field(body, "resourceSpans")):
        read_at(f"resourceSpans[{index}]", lambda value: _read_resource(value, "scopeSpans", batch), group)


def read_logs(body: dict[str, object], batch: Batch) -> None:
    """Add the log records of an ExportLogsServiceRequest to the batch."""
    for index, group in enumerate(list_field(body, "resourceLogs")):
        read_at(f"resourceLogs[{index}]", lambda value: _read_resource(value, "scopeLogs", batch), group)


def _read_resource(value: object, name: str, batch: Batch) -> None:
    body = as_object(value)
    frame = read_at("resource", _resource_frame, body.get("resource") or {})
    for index, scope in enumerate(list_field(body, name)):
        read_at(f"{name}[{index}]", lambda inner: _read_scope(inner, frame, batch), scope)


def _resource_frame(value: object) -> Frame:
    return {"resource": attributes_from_json(as_object(value))[0]}


def _read_scope(value: object, frame: Frame, batch: Batch) -> None:
    body = as_object(value)
    name, add = ("spans", _add_span) if batch.signal == "traces" else ("logRecords", _add_log)
    frame = frame | read_at("scope", _scope_frame, body.get("scope") or {})
    for index, item in enumerate(list_field(body, name)):
        read_at(f"{name}[{index}]", lambda inner: add(as_object(inner), frame, batch), item)


def _scope_frame(value: object) -> Frame:
    body = as_object(value)
    return {"scope": _text(body, "name"), "scope_version": _text(body, "version")}


def _add_span(body: dict[str, object], frame: Frame, batch: Batch) -> None:
    span = _span(body, frame)
    if span.trace and span.id:
        batch.spans.append(span)
    else:
        batch.rejected += 1


def _span(body: dict[str, object], frame: Frame) -> Span:
    attributes, dropped = attributes_from_json(body)
    status = read_at("status", as_object, body.get("status") or {})
    return Span(
        trace=otlp_ids.id_from_text(body.get("traceId"), otlp_ids.TRACE_BYTES),
        id=otlp_ids.id_from_text(body.get("spanId"), otlp_ids.SPAN_BYTES),
        parent=otlp_ids.id_from_text(body.get("parentSpanId"), otlp_ids.SPAN_BYTES),
        name=_text(body, "name"),
        start_ns=_number(body, "startTimeUnixNano"),
        end_ns=_number(body, "endTimeUnixNano"),
        failed=_number(status, "code") == _ERROR,
        message=_text(status, "message"),
        kind=_number(body, "kind"),
        attributes=attributes,
        events=_events(body),
        dropped=_number(body, "droppedAttributesCount") + dropped,
        links=_links(body) if body.get("links") else [],
        **frame,
    )


def _events(body: dict[str, object]) -> list[SpanEvent]:
    events = list_field(body, "events")[:MAX_ITEMS]
    return [read_at(f"events[{index}]", _event, event) for index, event in enumerate(events)]


def _event(value: object) -> SpanEvent:
    body = as_object(value)
    attributes = attributes_from_json(body)[0]
    return SpanEvent(name=_text(body, "name"), at_ns=_number(body, "timeUnixNano"), attributes=attributes)


def _links(body: dict[str, object]) -> list[SpanLink]:
    """Decode the links that name a span."""
    entries = list_field(body, "links")[:MAX_ITEMS]
    links = [read_at(f"links[{index}]", _link, link) for index, link in enumerate(entries)]
    return [link for link in links if link.trace and link.span]


def _link(value: object) -> SpanLink:
    body = as_object(value)
    trace = otlp_ids.id_from_text(body.get("traceId"), otlp_ids.TRACE_BYTES)
    span = otlp_ids.id_from_text(body.get("spanId"), otlp_ids.SPAN_BYTES)
    return SpanLink(trace, span, attributes_from_json(body)[0])


def _add_log(body: dict[str, object], frame: Frame, batch: Batch) -> None:
    trace = otlp_ids.id_from_text(body.get("traceId"), otlp_ids.TRACE_BYTES)
    span = otlp_ids.id_from_text(body.get("spanId"), otlp_ids.SPAN_BYTES)
    event = _log_event(body)
    if not body.get("traceId") and not body.get("spanId"):
        batch.ignored += 1
    elif trace and span:
        batch.spans.append(Span(trace=trace, id=span, events=[event], is_log=True, **frame))
    else:
        batch.rejected += 1


def _log_event(body: dict[str, object]) -> SpanEvent:
    attributes = attributes_from_json(body)[0]
    return SpanEvent(
        name=event_name(_text(body, "eventName"), attributes),
        at_ns=_number(body, "timeUnixNano") or _number(body, "observedTimeUnixNano"),
        attributes=attributes,
        body=read_at("body", from_json, body.get("body")),
        severity=severity(_text(body, "severityText"), _number(body, "severityNumber")),
    )


def _text(body: dict[str, object], name: str) -> str:
    value = body.get(name)
    if isinstance(value, str):
        return clean_text(value)
    if value is None:
        return ""
    raise FormatError(f"text is expected, not {json_type_name(value)}.", name)


def _number(body: dict[str, object], name: str) -> int:
    """Return a whole number that is not negative. Names of enumerations are accepted: protobuf's own JSON has them."""
    value = body.get(name)
    if value is None:
        return 0
    if isinstance(value, (dict, list, bool)):
        raise FormatError(f"a number is expected, not {json_type_name(value)}.", name)
    return _NUMBERS[value] if value in _NUMBERS else timestamp_ns(value)
