"""OTLP as spans: from protobuf and from JSON the same, and bodies that are none are refused by name."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import otlp
from agents.telemetry.reading.sanitize import MAX_ATTRIBUTES, MAX_DEPTH, MAX_ITEMS, TOO_DEEP
from agents.telemetry.reading.spans import Span, SpanEvent, SpanLink
from tests.telemetry.reading import captures

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
NANO = 1_795_000_000_123_456_789
OTLP_PATHS = ("/v1/traces", "/v1/logs", "/api/public/otel/v1/traces")


def request(*spans: dict[str, Any], **resource: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "s"}, "spans": list(spans)}]}]}


def logs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(records)}]}]}


def span(**more: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": SPAN, "name": "chat", **more}


def only(body: dict[str, Any]) -> Span:
    (spans,) = otlp.traces_from_json(body).spans
    return spans


def valued(value: Any) -> Any:
    """What one attribute of this value is read as."""
    return only(request(span(attributes=[{"key": "a", "value": value}]))).attributes["a"]


def to_protobuf(body: Any, message: Any) -> bytes:
    """OTLP/JSON as protobuf: its ids are hex, where protobuf's own JSON has base64."""

    def based(value: Any) -> Any:
        if isinstance(value, list):
            return [based(item) for item in value]
        if not isinstance(value, dict):
            return value
        ids = ("traceId", "spanId", "parentSpanId")
        return {
            key: base64.b64encode(bytes.fromhex(inner)).decode() if key in ids else based(inner)
            for key, inner in value.items()
        }

    encoded: bytes = json_format.ParseDict(based(body), message, ignore_unknown_fields=True).SerializeToString()
    return encoded


# ------------------------------------------------------------------------------------- captures


@pytest.mark.parametrize("name", captures.names())
def test_it_reads_protobuf_and_json_of_a_capture_as_the_same_spans(name: str) -> None:
    for sent in captures.requests(name):
        if sent["path"] not in OTLP_PATHS:
            continue
        if sent["path"] == "/v1/logs":
            data = to_protobuf(sent["body"], ExportLogsServiceRequest())
            assert otlp.logs_from_protobuf(data) == otlp.logs_from_json(sent["body"])
        else:
            data = to_protobuf(sent["body"], ExportTraceServiceRequest())
            assert otlp.traces_from_protobuf(data) == otlp.traces_from_json(sent["body"])


@pytest.mark.parametrize("path", sorted(captures.HERE.glob("*.bin")), ids=lambda path: path.stem)
def test_it_reads_the_exact_bytes_of_a_sender(path: Any) -> None:
    name, _, number = path.stem.rpartition(".")
    sent = captures.requests(name)[int(number)]
    read = otlp.logs_from_protobuf if sent["path"] == "/v1/logs" else otlp.traces_from_protobuf
    assert read(path.read_bytes()) == captures.decoded(sent)


def test_it_reads_all_that_a_span_says() -> None:
    reason = {"key": "why", "value": {"stringValue": "queued"}}
    message = span(
        parentSpanId="00f067aa0ba902b7",
        kind=3,
        startTimeUnixNano=str(NANO),
        endTimeUnixNano=NANO + 5,
        status={"code": 2, "message": "no"},
        droppedAttributesCount=7,
        attributes=[{"key": "n", "value": {"intValue": "12"}}],
        events=[{"name": "exception", "timeUnixNano": str(NANO), "attributes": []}],
        links=[{"traceId": TRACE, "spanId": "00f067aa0ba902b7", "attributes": [reason]}, {"traceId": TRACE}],
        unknown={"of": "a newer version"},
    )
    resource = [{"key": "service.name", "value": {"stringValue": "weather"}}]
    assert only(request(message, attributes=resource)) == Span(
        trace=TRACE,
        id=SPAN,
        parent="00f067aa0ba902b7",
        name="chat",
        start_ns=NANO,
        end_ns=NANO + 5,
        failed=True,
        message="no",
        kind=3,
        attributes={"n": 12},
        events=[SpanEvent(name="exception", at_ns=NANO)],
        resource={"service.name": "weather"},
        scope="s",
        dropped=7,
        links=[SpanLink(TRACE, "00f067aa0ba902b7", {"why": "queued"})],
    )


def test_it_reads_links_and_severities_of_protobuf_as_of_json() -> None:
    link = {"traceId": TRACE, "spanId": SPAN, "attributes": [{"key": "n", "value": {"intValue": "1"}}]}
    body = request(span(links=[link, {"spanId": SPAN}]))
    message = to_protobuf(body, ExportTraceServiceRequest())
    assert otlp.traces_from_protobuf(message).spans[0].links == [SpanLink(TRACE, SPAN, {"n": 1})]
    assert only(body).links == [SpanLink(TRACE, SPAN, {"n": 1})]


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({"severityText": "Information", "severityNumber": 9}, "Information"),
        ({"severityNumber": 1}, "TRACE"),
        ({"severityNumber": 16}, "WARN"),
        ({"severityNumber": 24}, "FATAL"),
        ({"severityNumber": 25}, ""),
        ({}, ""),
    ],
)
def test_it_reads_how_grave_a_record_is(fields: dict[str, Any], severity: str) -> None:
    body = logs({"traceId": TRACE, "spanId": SPAN, **fields})
    sent = otlp.logs_from_protobuf(to_protobuf(body, ExportLogsServiceRequest()))
    for decoded in (otlp.logs_from_json(body), sent):
        assert decoded.spans[0].events[0].severity == severity


def test_it_reads_the_names_of_enumerations_and_ids_in_base64_as_protobufs_own_json_writes_them() -> None:
    named = span(
        traceId=base64.b64encode(bytes.fromhex(TRACE)).decode(),
        spanId=base64.b64encode(bytes.fromhex(SPAN)).decode(),
        kind="SPAN_KIND_CLIENT",
        status={"code": "STATUS_CODE_ERROR"},
    )
    decoded = only(request(named))
    assert (decoded.trace, decoded.id, decoded.kind, decoded.failed) == (TRACE, SPAN, 3, True)


# --------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"stringValue": "a\x00b"}, "a\ufffdb"),
        ({"stringValue": "a\ud83d"}, "a\ufffd"),
        ({"stringValue": "\ud83d\ude00"}, "\U0001f600"),
        ({"intValue": "-9223372036854775807"}, -9223372036854775807),
        ({"intValue": 3.0}, 3),
        ({"intValue": 2**70}, str(2**70)),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": "NaN"}, None),
        ({"doubleValue": "-Infinity"}, None),
        ({"doubleValue": float("inf")}, None),
        ({"boolValue": False}, False),
        ({"bytesValue": "AAE="}, {"base64": "AAE="}),
        ({"arrayValue": {"values": [{"intValue": "1"}, {}]}}, [1, None]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}, {"k": "v"}),
        ({"somethingNew": 1}, None),
        ({}, None),
        (None, None),
    ],
)
def test_it_reads_a_value(value: Any, read: Any) -> None:
    assert valued(value) == read


@pytest.mark.parametrize("id", [TRACE.upper(), TRACE])
def test_it_reads_ids_in_any_case(id: str) -> None:
    assert only(request(span(traceId=id))).trace == TRACE


def test_it_cuts_what_is_too_deep_too_wide_or_too_much() -> None:
    deep: Any = {"stringValue": "bottom"}
    for _ in range(MAX_DEPTH + 3):
        deep = {"arrayValue": {"values": [deep]}}
    decoded = valued(deep)
    for _ in range(MAX_DEPTH - 1):
        (decoded,) = decoded
    assert decoded == TOO_DEEP

    wide = {"arrayValue": {"values": [{"intValue": 1}] * (MAX_ITEMS + 1)}}
    assert len(valued(wide)) == MAX_ITEMS

    many = [{"key": str(number), "value": {"intValue": 1}} for number in range(MAX_ATTRIBUTES + 3)]
    decoded = only(request(span(attributes=many, droppedAttributesCount=2)))
    assert len(decoded.attributes) == MAX_ATTRIBUTES
    assert decoded.dropped == 5


def test_it_bounds_times_to_63_bits() -> None:
    decoded = only(request(span(startTimeUnixNano=2**64 - 1, endTimeUnixNano="-5")))
    assert (decoded.start_ns, decoded.end_ns) == (2**63 - 1, 0)
    message = to_protobuf(request(span(startTimeUnixNano=str(2**64 - 1))), ExportTraceServiceRequest())
    assert otlp.traces_from_protobuf(message).spans[0].start_ns == 2**63 - 1


# ------------------------------------------------------------------------------------------ logs


def test_it_makes_events_of_log_records_that_name_their_span_and_ignores_the_rest() -> None:
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": "hello"}}]}}
    record = {"traceId": TRACE, "spanId": SPAN, "eventName": "gen_ai.choice", "observedTimeUnixNano": "5", "body": body}
    decoded = otlp.logs_from_json(logs(record, {"body": {"stringValue": "started"}}))
    event = SpanEvent(name="gen_ai.choice", at_ns=5, body={"content": "hello"})
    assert decoded.spans == [Span(trace=TRACE, id=SPAN, events=[event], is_log=True)]
    assert (decoded.ignored, decoded.rejected) == (1, 0)


def test_it_names_a_record_by_the_attribute_where_older_senders_put_it() -> None:
    attributes = [{"key": "event.name", "value": {"stringValue": "codex.user_prompt"}}]
    record = {"traceId": TRACE, "spanId": SPAN, "eventName": "src/main.rs:5", "attributes": attributes}
    (names,) = otlp.logs_from_json(logs(record)).spans
    assert names.events[0].name == "codex.user_prompt"


# -------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("bad", [{"traceId": "0" * 32}, {"spanId": ""}, {"spanId": "abc"}, {"traceId": "zz" * 16}])
def test_it_rejects_a_span_with_bad_ids_and_takes_the_others(bad: dict[str, str]) -> None:
    body = request(span(), span(**bad))
    decoded = otlp.traces_from_json(body)
    assert (len(decoded.spans), decoded.rejected) == (1, 1)
    assert decoded.problem == "1 span was rejected: a trace id has 16 bytes and a span id 8, and they are not all zero."


def test_it_refuses_logs_that_are_sent_as_traces_with_a_hint() -> None:
    record = {"timeUnixNano": "5", "body": {"stringValue": "a record"}, "attributes": []}
    data = to_protobuf(logs(record, record), ExportLogsServiceRequest())
    with pytest.raises(InvalidRequest, match="/v1/logs"):
        otlp.traces_from_protobuf(data)
    with pytest.raises(InvalidRequest, match="these are logs: send them to /v1/logs"):
        otlp.traces_from_json(logs(record))
    with pytest.raises(InvalidRequest, match="these are traces"):
        otlp.logs_from_json(request(span()))


def test_it_refuses_spans_that_are_sent_as_logs() -> None:
    data = to_protobuf(request(span(startTimeUnixNano="5")), ExportTraceServiceRequest())
    with pytest.raises(InvalidRequest):
        otlp.logs_from_protobuf(data)


@pytest.mark.parametrize("body", [{}, {"resourceSpans": []}, {"resourceSpans": None}, {"resourceSpans": [{}]}])
def test_it_takes_an_empty_request(body: dict[str, Any]) -> None:
    assert otlp.traces_from_json(body) == otlp.Decoded()
    assert otlp.traces_from_protobuf(b"") == otlp.Decoded()


PLACE = "resourceSpans[0].scopeSpans[0].spans[1]"


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"attributes": {"a": 1}}, f"{PLACE}.attributes"),
        ({"attributes": [{"key": "a", "value": "b"}]}, f"{PLACE}.attributes[0]"),
        ({"attributes": [{"key": 5, "value": {}}]}, f"{PLACE}.attributes[0].key"),
        ({"attributes": [{"key": "a", "value": {"intValue": "many"}}]}, f"{PLACE}.attributes[0]"),
        ({"attributes": [{"key": "a", "value": {"boolValue": "true"}}]}, f"{PLACE}.attributes[0]"),
        ({"attributes": [{"key": "a", "value": {"bytesValue": "?"}}]}, f"{PLACE}.attributes[0]"),
        ({"name": 5}, f"{PLACE}.name"),
        ({"startTimeUnixNano": []}, f"{PLACE}.startTimeUnixNano"),
        ({"events": [{"name": []}]}, f"{PLACE}.events[0].name"),
        ({"status": "OK"}, f"{PLACE}.status"),
    ],
)
def test_it_refuses_json_of_the_wrong_shape_and_says_where(wrong: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        otlp.traces_from_json(request(span(), span(**wrong)))
    assert refused.value.param == param
    assert refused.value.message.startswith(param)


def test_it_says_what_attributes_look_like() -> None:
    with pytest.raises(InvalidRequest, match="attributes are a list of"):
        otlp.traces_from_json(request(span(attributes={"gen_ai.system": "openai"})))


@pytest.mark.parametrize("body", [[], "text", 5, None, {"spans": []}, {"resource_spans": []}, {"resourceSpans": {}}])
def test_it_refuses_what_is_no_request(body: Any) -> None:
    with pytest.raises(InvalidRequest):
        otlp.traces_from_json(body)


def test_it_refuses_protobuf_that_is_cut_or_is_json() -> None:
    data = to_protobuf(request(span()), ExportTraceServiceRequest())
    with pytest.raises(InvalidRequest, match="no complete protobuf message"):
        otlp.traces_from_protobuf(data[:-3])
    with pytest.raises(InvalidRequest, match="application/json"):
        otlp.traces_from_protobuf(json.dumps(request(span())).encode())
