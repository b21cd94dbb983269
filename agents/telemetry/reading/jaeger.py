"""Decoder of traces as Jaeger's API and UI write them: ``GET /api/traces/{id}`` (read in its source, not run).

``{"data": [{"traceID", "spans": [ … ], "processes": {"p1": …}}]}``, a list of traces, or one. ``tags`` are attributes,
those of a process the resource, ``logs`` events; a span's parent is what it is ``CHILD_OF``, else what it
``FOLLOWS_FROM``. Ids are hex, of which older versions leave out leading zeros; times are microseconds. What an
OpenTelemetry exporter had to put into tags (``otel.status_code``, ``otel.scope.name``, ``span.kind``) is read from
them. Spans have the format "otlp": a trace that also came over OTLP is the same one.
"""

from __future__ import annotations

import re
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
from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, clean_json, clean_text, dicts, timestamp_ns
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink

_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_MAX_US = (2**63 - 1) // 1000
_REJECTION_REASON = "its traceID or spanID is not Jaeger's."

Tags = dict[str, Any]


@raises_invalid_request
def from_json(body: object) -> Decoded:
    """Decode all spans of one trace or of several."""
    items: list[Span] = []
    for index, trace in enumerate(_traces(body)):
        items += read_at(f"data[{index}]", _spans, trace)
    spans = [span for span in items if span.trace and span.id]
    rejected = len(items) - len(spans)
    if rejected and not spans:
        raise FormatError("no span has a traceID and a spanID in hex.", "data")
    return Decoded(spans, rejected, rejection_summary(rejected, "span", _REJECTION_REASON))


def is_trace(value: dict[str, Any]) -> bool:
    """Tell whether this is a trace of Jaeger's."""
    return "traceID" in value and isinstance(value.get("spans"), list)


def _traces(body: object) -> list[object]:
    if isinstance(body, list):
        return body
    holder = as_object(body)
    if "spans" in holder:
        return [body]
    if "data" not in holder:
        raise FormatError('a trace of Jaeger is {"traceID", "spans": [ … ], "processes": { … }}.', "data")
    return list_field(holder, "data")


def _spans(value: object) -> list[Span]:
    trace = as_object(value)
    processes = read_at("processes", as_object, trace.get("processes") or {})
    resources = {id: _resource(process) for id, process in processes.items()}
    items = enumerate(list_field(trace, "spans"))
    return [_span(read_at(f"spans[{index}]", as_object, item), resources) for index, item in items]


def _resource(value: object) -> Tags:
    process = value if isinstance(value, dict) else {}
    name = text_field(process, "serviceName")
    return {**({"service.name": name} if name else {}), **_tags(process.get("tags"))}


def _span(item: dict[str, object], resources: dict[str, Tags]) -> Span:
    tags = _tags(item.get("tags"))
    trace = _id(item.get("traceID"), otlp_ids.TRACE_BYTES)
    parent, links = _references(item, trace)
    start_us = min(timestamp_ns(item.get("startTime")), _MAX_US)
    end_us = min(start_us + timestamp_ns(item.get("duration")), _MAX_US)
    inline = item.get("process")  # Elasticsearch has it in each span
    process = item.get("processID")
    return Span(
        trace=trace,
        id=_id(item.get("spanID"), otlp_ids.SPAN_BYTES),
        parent=parent,
        name=text_field(item, "operationName"),
        start_ns=start_us * 1000,
        end_ns=end_us * 1000,
        failed=tags.get("otel.status_code") == "ERROR" or tags.get("error") in (True, "true"),
        message=text_field(tags, "otel.status_description"),
        kind=_KINDS.get(text_field(tags, "span.kind"), 0),
        attributes=tags,
        events=[_event(log) for log in dicts(item.get("logs"))],
        resource=_resource(inline) if inline else resources.get(process, {}) if isinstance(process, str) else {},
        scope=text_field(tags, "otel.scope.name") or text_field(tags, "otel.library.name"),
        scope_version=text_field(tags, "otel.scope.version") or text_field(tags, "otel.library.version"),
        links=links,
    )


def _references(item: dict[str, object], trace: str) -> tuple[str, list[SpanLink]]:
    """Return the parent of a span, and what else it refers to."""
    references = [
        (
            reference.get("refType") != "CHILD_OF",
            _id(reference.get("traceID"), otlp_ids.TRACE_BYTES) or trace,
            _id(reference.get("spanID"), otlp_ids.SPAN_BYTES),
        )
        for reference in dicts(item.get("references"))
    ]
    references = sorted((entry for entry in references if entry[2]), key=lambda entry: entry[0])
    parent = next((entry for entry in references if entry[1] == trace), None)
    links = [SpanLink(entry[1], entry[2]) for entry in references if entry is not parent]
    return parent[2] if parent else _id(item.get("parentSpanID"), otlp_ids.SPAN_BYTES), links


def _id(value: object, length: int) -> str:
    digits = value.zfill(2 * length) if isinstance(value, str) and 0 < len(value) <= 2 * length else ""
    return otlp_ids.id_from_text(digits, length)


def _event(log: dict[str, Any]) -> SpanEvent:
    fields = _tags(log.get("fields"))
    name = text_field(fields, "event")
    if name:
        del fields["event"]
    return SpanEvent(name=name, at_ns=min(timestamp_ns(log.get("timestamp")), _MAX_US) * 1000, attributes=fields)


def _tags(value: object) -> Tags:
    """Return a list of ``{"key", "type", "value"}`` as attributes."""
    pairs = [tag for tag in dicts(value) if isinstance(tag.get("key"), str)][:MAX_ATTRIBUTES]
    return {clean_text(tag["key"]): _value(tag) for tag in pairs}


def _value(tag: dict[str, Any]) -> Any:
    value = tag.get("value")
    if tag.get("type") == "int64" and isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    return clean_json(value, 1)
