"""Jaeger's traces as spans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import files, jaeger, otlp
from agents.telemetry.reading.detect_format import format_of
from agents.telemetry.reading.spans import SpanEvent, SpanLink
from tests.telemetry.reading import reports
from tests.telemetry.reading.outlines import outlines

REQUEST = reports.request(*reports.turn(1, "How warm is it in Rome?"))
_TYPES = {"stringValue": "string", "intValue": "int64", "boolValue": "bool", "doubleValue": "float64"}


def tag(key: str, value: Any, type_: str = "string") -> dict[str, Any]:
    return {"key": key, "type": type_, "value": value}


def as_jaeger(request: dict[str, Any]) -> dict[str, Any]:
    """A request of OTLP as Jaeger's API returns it later."""
    [group] = request["resourceSpans"]
    resource = _tags(group["resource"]["attributes"])
    spans = [_span(span) for scope in group["scopeSpans"] for span in scope["spans"]]
    name = next((found["value"] for found in resource if found["key"] == "service.name"), "program")
    process = {"serviceName": name, "tags": [found for found in resource if found["key"] != "service.name"]}
    trace = {"traceID": spans[0]["traceID"], "spans": spans, "processes": {"p1": process}, "warnings": None}
    return {"data": [trace], "total": 0, "limit": 0, "offset": 0, "errors": None}


def _span(span: dict[str, Any]) -> dict[str, Any]:
    start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    parent = {"refType": "CHILD_OF", "traceID": span["traceId"], "spanID": span.get("parentSpanId")}
    return {
        "traceID": span["traceId"].lstrip("0"),
        "spanID": span["spanId"],
        "operationName": span["name"],
        "references": [parent] if "parentSpanId" in span else [],
        "startTime": start // 1000,
        "duration": (end - start) // 1000,
        "tags": _tags(span["attributes"]),
        "logs": [],
        "processID": "p1",
    }


def _tags(attributes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tags = []
    for attribute in attributes:
        [(kind, value)] = attribute["value"].items()
        tags.append(tag(attribute["key"], int(value) if kind == "intValue" else value, _TYPES[kind]))
    return tags


SPAN: dict[str, Any] = {
    "traceID": "af7651916cd43dd8448eb211c80319c",
    "spanID": "7ad6b7169203331",
    "operationName": "chat",
    "references": [
        {"refType": "FOLLOWS_FROM", "traceID": "af7651916cd43dd8448eb211c80319c", "spanID": "2"},
        {"refType": "CHILD_OF", "traceID": "af7651916cd43dd8448eb211c80319c", "spanID": "3"},
        {"refType": "FOLLOWS_FROM", "traceID": "5", "spanID": "4"},
    ],
    "startTime": 1_795_000_000_000_001,
    "duration": 250,
    "tags": [
        tag("span.kind", "client"),
        tag("otel.status_code", "ERROR"),
        tag("otel.status_description", "no"),
        tag("otel.scope.name", "openinference"),
        tag("gen_ai.usage.input_tokens", "12", "int64"),
        tag("error", True, "bool"),
    ],
    "logs": [
        {"timestamp": 1_795_000_000_000_002, "fields": [tag("event", "exception"), tag("exception.message", "no")]},
        {"timestamp": 1_795_000_000_000_003, "fields": [tag("size", 3, "int64")]},
    ],
    "processID": "p1",
}
PROCESSES = {"p1": {"serviceName": "desk", "tags": [tag("telemetry.sdk.language", "python")]}}
TRACE = {"traceID": SPAN["traceID"], "spans": [SPAN], "processes": PROCESSES}


@pytest.mark.parametrize("body", [{"data": [TRACE]}, [TRACE], TRACE])
def test_it_reads_a_span(body: Any) -> None:
    assert format_of(json.dumps(body).encode()) == "jaeger"
    [span] = jaeger.from_json(body).spans
    assert (span.trace, span.id, span.parent) == (f"0{SPAN['traceID']}", f"0{SPAN['spanID']}", f"{3:016x}")
    assert span.links == [SpanLink(span.trace, f"{2:016x}"), SpanLink(f"{5:032x}", f"{4:016x}")]
    assert (span.start_ns, span.end_ns - span.start_ns) == (1_795_000_000_000_001_000, 250_000)
    assert (span.name, span.failed, span.message, span.kind, span.scope) == ("chat", True, "no", 3, "openinference")
    assert span.attributes["gen_ai.usage.input_tokens"] == 12
    assert span.resource == {"service.name": "desk", "telemetry.sdk.language": "python"}
    assert span.events == [
        SpanEvent("exception", 1_795_000_000_000_002_000, {"exception.message": "no"}),
        SpanEvent("", 1_795_000_000_000_003_000, {"size": 3}),
    ]


def test_it_is_the_trace_that_otlp_has() -> None:
    data = json.dumps(as_jaeger(REQUEST), indent=2).encode()
    assert format_of(data[:1500]) == "jaeger"
    decoded = files.decode_file("jaeger", data)
    sent = otlp.traces_from_json(REQUEST)
    assert [(span.trace, span.id, span.parent, span.start_ns) for span in decoded.spans] == [
        (span.trace, span.id, span.parent, span.start_ns) for span in sent.spans
    ]
    assert outlines(decoded.spans) == outlines(sent.spans)


def test_it_reads_the_older_parent_and_a_process_in_the_span() -> None:
    older = {**SPAN, "references": None, "parentSpanID": "9", "process": {"serviceName": "old"}, "processID": None}
    [span] = jaeger.from_json({**TRACE, "spans": [older], "processes": None}).spans
    assert (span.parent, span.resource) == (f"{9:016x}", {"service.name": "old"})


def test_it_rejects_a_span_without_ids_and_refuses_a_body_of_nothing_else() -> None:
    decoded = jaeger.from_json({**TRACE, "spans": [SPAN, {**SPAN, "spanID": "xyz"}, {**SPAN, "traceID": 5}]})
    assert (len(decoded.spans), decoded.rejected) == (1, 2)
    with pytest.raises(InvalidRequest, match="no span has a traceID"):
        jaeger.from_json({"data": [{"spans": [{}]}]})


@pytest.mark.parametrize(
    ("body", "param"), [("x", None), ({}, "data"), ([5], "data[0]"), ({"data": [{"spans": [5]}]}, "data[0].spans[0]")]
)
def test_it_refuses_what_is_no_trace(body: Any, param: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        jaeger.from_json(body)
    assert refused.value.param == param
