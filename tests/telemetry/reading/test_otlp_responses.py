"""What senders of OTLP are answered, in the type they asked in."""

from __future__ import annotations

import json

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from agents.telemetry.reading.otlp_responses import OtlpSignal, to_response, to_status


@pytest.mark.parametrize("kind", ["traces", "logs", "metrics"])
def test_it_answers_a_success_with_an_empty_message(kind: OtlpSignal) -> None:
    assert to_response(kind, "protobuf") == b""
    assert to_response(kind, "json") == b"{}"


def test_it_tells_what_was_rejected() -> None:
    read = ExportTraceServiceResponse.FromString(to_response("traces", "protobuf", 3, "bad ids"))
    assert (read.partial_success.rejected_spans, read.partial_success.error_message) == (3, "bad ids")
    read = ExportLogsServiceResponse.FromString(to_response("logs", "protobuf", 2, "bad ids"))
    assert read.partial_success.rejected_log_records == 2
    told = json.loads(to_response("traces", "json", 3, "bad ids"))
    assert told == {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "bad ids"}}


def test_it_tells_a_warning_without_rejecting_anything() -> None:
    told = json.loads(to_response("logs", "json", 0, "too many attributes"))
    assert told["partialSuccess"] == {"rejectedLogRecords": "0", "errorMessage": "too many attributes"}


@pytest.mark.parametrize(("status", "code"), [(400, 3), (401, 16), (413, 8), (429, 8), (503, 14), (500, 13), (418, 3)])
def test_it_tells_an_error_as_a_status(status: int, code: int) -> None:
    assert json.loads(to_status(status, "no", "json")) == {"code": code, "message": "no"}
    assert to_status(status, "no", "protobuf") == bytes([8, code, 18, 2]) + b"no"


def test_a_long_message_is_cut_and_its_length_is_a_varint() -> None:
    data = to_status(400, "é" * 3000, "protobuf")
    assert data[:5] == bytes([8, 3, 18, 4000 & 127 | 128, 4000 >> 7])
    assert data[5:].decode() == "é" * 2000
