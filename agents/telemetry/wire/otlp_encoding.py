"""Encodes spans as OTLP requests: protobuf, and its JSON form, one object a line in files.

Source: opentelemetry-proto 1.11. In JSON names are lowerCamelCase, ids hex, integers of 64 bits text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agents.record.schemas.records import TurnRecord
from agents.telemetry.reading.exported_turns import SCOPE
from agents.telemetry.wire.otlp import RESOURCE, Attributes, OtlpSpan
from agents.telemetry.wire.otlp import spans as spans_of

_ERROR = 2  # Status.StatusCode
_MAX_INT = 2**63 - 1


def line(spans: Sequence[OtlpSpan]) -> bytes:
    """One line of a file, as the Collector's file exporter writes it."""
    return as_json(spans) + b"\n"


def turn_line(turn: TurnRecord) -> bytes:
    """The spans of a whole turn, as one request to a collector, which a server like this one reads back."""
    return line(spans_of(turn, records=True))


def as_json(spans: Sequence[OtlpSpan]) -> bytes:
    """An ExportTraceServiceRequest as JSON."""
    scoped = {"scope": {"name": SCOPE}, "spans": [_object(span) for span in spans]}
    resource = {"attributes": _pairs(RESOURCE)}
    return msgspec.json.encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped]}]})


def as_protobuf(spans: Sequence[OtlpSpan]) -> bytes:
    """An ExportTraceServiceRequest as protobuf."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    _fill(resource.resource.attributes, RESOURCE)
    scoped = resource.scope_spans.add()
    scoped.scope.name = SCOPE
    for span in spans:
        _message(scoped.spans.add(), span)
    encoded: bytes = request.SerializeToString()
    return encoded


# ---------------------------------------------------------------------------------------------- JSON


def _object(span: OtlpSpan) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "attributes": _pairs(_attributes_with_error(span)),
    }
    if span.parent:
        encoded["parentSpanId"] = span.parent
    if span.end_ns:
        encoded["endTimeUnixNano"] = str(span.end_ns)
    if span.events:
        encoded["events"] = [
            {"name": event.name, "timeUnixNano": str(event.at_ns), "attributes": _pairs(event.attributes)}
            for event in span.events
        ]
    if span.error is not None:
        encoded["status"] = {"code": _ERROR, "message": span.error.message}
    return encoded


def _attributes_with_error(span: OtlpSpan) -> Attributes:
    """The attributes of a span, with the type of its error; the error's message is the status."""
    return span.attributes if span.error is None else {**span.attributes, "error.type": span.error.type}


def _pairs(attributes: Attributes) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(min(value, _MAX_INT))}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(item) for item in value]}}
        case _:
            return {"stringValue": str(value)}


# ---------------------------------------------------------------------------------------------- protobuf


def _message(message: Any, span: OtlpSpan) -> None:
    message.trace_id, message.span_id = bytes.fromhex(span.trace), bytes.fromhex(span.id)
    message.parent_span_id = bytes.fromhex(span.parent)
    message.name, message.kind = span.name, span.kind
    message.start_time_unix_nano, message.end_time_unix_nano = span.start_ns, span.end_ns
    _fill(message.attributes, _attributes_with_error(span))
    for event in span.events:
        added = message.events.add()
        added.name, added.time_unix_nano = event.name, event.at_ns
        _fill(added.attributes, event.attributes)
    if span.error is not None:
        message.status.code, message.status.message = _ERROR, span.error.message


def _fill(pairs: Any, attributes: Attributes) -> None:
    for name, value in attributes.items():
        pair = pairs.add()
        pair.key = name
        _set(pair.value, value)


def _set(message: Any, value: Any) -> None:
    match value:
        case bool():
            message.bool_value = value
        case int():
            message.int_value = min(value, _MAX_INT)
        case float():
            message.double_value = value
        case list():
            for item in value:
                _set(message.array_value.values.add(), item)
        case _:
            message.string_value = str(value)
