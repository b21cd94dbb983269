"""Decoder of OTLP's protobuf messages. It walks the outer levels by hand: twice as fast as protobuf's own JSON, and
nothing is read twice.

In a message that protobuf has parsed only the ids can be wrong: the types are those of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource as ResourceMessage
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from agents.telemetry.reading import otlp_ids
from agents.telemetry.reading.otlp_ids import Batch
from agents.telemetry.reading.otlp_values import attributes_from_messages, from_message
from agents.telemetry.reading.protobuf import MessageLimit, count_messages, delimited_fields, incomplete_message
from agents.telemetry.reading.sanitize import MAX_ITEMS, clean_text, timestamp_ns
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink

_ERROR = 2  # Status.StatusCode
MAX_SPANS = 10_000
"""Spans, or log records, of one request."""


_SCHEMA = {
    **dict.fromkeys(
        [("span", 9), ("event", 3), ("link", 4), ("record", 6), ("resource", 1), ("scope", 3), ("list", 1)], "pair"
    ),
    **dict.fromkeys([("pair", 2), ("array", 1), ("record", 5)], "value"),
    ("span", 11): "event",
    ("span", 13): "link",
    ("value", 5): "array",
    ("value", 6): "list",
}
"""The repeated messages inside the messages of OTLP, for `count_messages`."""


def read_traces(data: bytes, batch: Batch) -> None:
    """Add the spans of an ExportTraceServiceRequest to the batch. Raises InvalidRequest, TooLarge."""
    for frame, part in _parts(data, "span"):
        _add(batch, _span(_merge(SpanMessage(), part), frame))


def read_logs(data: bytes, batch: Batch) -> None:
    """Add the log records of an ExportLogsServiceRequest to the batch. A record without a span id is counted as
    ignored."""
    for frame, part in _parts(data, "record"):
        message = _merge(LogRecord(), part)
        if message.trace_id or message.span_id:
            _add(batch, _log(message, frame))
        else:
            batch.ignored += 1


def _parts(data: bytes, kind: str) -> Iterator[tuple[dict[str, Any], memoryview]]:
    """Iterate over the spans, or records, with the attributes of their resource and scope."""
    budget, spans = MessageLimit(), MessageLimit(MAX_SPANS)
    for _, group in delimited_fields(memoryview(data), budget, 1):
        resource = _message(ResourceMessage, "resource", group, budget)
        resource_attributes = attributes_from_messages(resource.attributes)[0]
        for _, scope_group in delimited_fields(group, budget, 2):
            frame = {
                "resource": resource_attributes,
                **_scope(_message(InstrumentationScope, "scope", scope_group, budget)),
            }
            for _, part in delimited_fields(scope_group, budget, 2):
                spans.take()
                count_messages(part, kind, _SCHEMA, budget)
                yield frame, part


def _message(make: type[Any], kind: str, within: memoryview, budget: MessageLimit) -> Any:
    """Parse the first field of a group, which describes it. Repeated, its parts are one message."""
    message = make()
    for _, part in delimited_fields(within, budget, 1):
        count_messages(part, kind, _SCHEMA, budget)
        _merge(message, part)
    return message


def _merge(message: Any, part: memoryview) -> Any:
    try:
        message.MergeFromString(bytes(part))
    except DecodeError as error:
        raise incomplete_message() from error
    return message


def _add(batch: Batch, span: Span) -> None:
    if span.trace and span.id:
        batch.spans.append(span)
    else:
        batch.rejected += 1


def _scope(scope: Any) -> dict[str, Any]:
    return {"scope": clean_text(scope.name), "scope_version": clean_text(scope.version)}


def _span(message: Any, frame: dict[str, Any]) -> Span:
    attributes, dropped = attributes_from_messages(message.attributes)
    events = message.events
    return Span(
        trace=otlp_ids.id_from_bytes(message.trace_id, otlp_ids.TRACE_BYTES),
        id=otlp_ids.id_from_bytes(message.span_id, otlp_ids.SPAN_BYTES),
        parent=otlp_ids.id_from_bytes(message.parent_span_id, otlp_ids.SPAN_BYTES),
        name=clean_text(message.name),
        start_ns=timestamp_ns(message.start_time_unix_nano),
        end_ns=timestamp_ns(message.end_time_unix_nano),
        failed=message.status.code == _ERROR,
        message=clean_text(message.status.message),
        kind=message.kind,
        attributes=attributes,
        events=[_event(event) for event in events[:MAX_ITEMS]],
        dropped=message.dropped_attributes_count + dropped,
        links=_links(message.links) if message.links else [],
        **frame,
    )


def _event(message: Any) -> SpanEvent:
    attributes = attributes_from_messages(message.attributes)[0]
    return SpanEvent(name=clean_text(message.name), at_ns=timestamp_ns(message.time_unix_nano), attributes=attributes)


def _links(link_messages: Any) -> list[SpanLink]:
    """Decode the links that name a span."""
    links = [
        SpanLink(
            otlp_ids.id_from_bytes(link.trace_id, otlp_ids.TRACE_BYTES),
            otlp_ids.id_from_bytes(link.span_id, otlp_ids.SPAN_BYTES),
            attributes_from_messages(link.attributes)[0],
        )
        for link in link_messages[:MAX_ITEMS]
    ]
    return [link for link in links if link.trace and link.span]


def _log(message: Any, frame: dict[str, Any]) -> Span:
    return Span(
        trace=otlp_ids.id_from_bytes(message.trace_id, otlp_ids.TRACE_BYTES),
        id=otlp_ids.id_from_bytes(message.span_id, otlp_ids.SPAN_BYTES),
        events=[_log_event(message)],
        is_log=True,
        **frame,
    )


def _log_event(message: Any) -> SpanEvent:
    attributes = attributes_from_messages(message.attributes)[0]
    return SpanEvent(
        name=event_name(message.event_name, attributes),
        at_ns=timestamp_ns(message.time_unix_nano or message.observed_time_unix_nano),
        attributes=attributes,
        body=from_message(message.body),
        severity=severity(clean_text(message.severity_text), message.severity_number),
    )


_SEVERITIES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""Four numbers each, from 1 on."""


def severity(text: str, number: int) -> str:
    """Return how severe a record is: the sender's word, else OpenTelemetry's for the number, '' without either."""
    return text[:60] or (_SEVERITIES[(number - 1) // 4] if 0 < number <= 4 * len(_SEVERITIES) else "")


def event_name(name: str, attributes: dict[str, Any]) -> str:
    """Return a log's name: the attribute of older senders goes first, because Codex sets only that one correctly."""
    attribute = attributes.get("event.name")
    return attribute if isinstance(attribute, str) and attribute else clean_text(name)
