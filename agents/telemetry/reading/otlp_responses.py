"""Responses to OTLP senders: the message of the signal, or a ``google.rpc.Status`` for an error.

A response has the content type of its request. A success is an empty message; rejected entries and warnings are a
"partial success", after which a sender must not send again.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

OtlpSignal = Literal["traces", "logs", "metrics"]
OtlpEncoding = Literal["protobuf", "json"]

MAX_MESSAGE_CHARS = 2000
"""Characters of a message that are sent."""

_FIELDS: dict[OtlpSignal, tuple[str, str]] = {
    "traces": ("rejectedSpans", "rejected_spans"),
    "logs": ("rejectedLogRecords", "rejected_log_records"),
    "metrics": ("rejectedDataPoints", "rejected_data_points"),
}
_MESSAGES: dict[OtlpSignal, Any] = {
    "traces": ExportTraceServiceResponse,
    "logs": ExportLogsServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 10, 413: 8, 415: 3, 429: 8, 502: 14, 503: 14, 504: 4}
"""google.rpc.Code by HTTP status; 13 is INTERNAL."""


def to_response(signal: OtlpSignal, encoding: OtlpEncoding, rejected: int = 0, problem: str = "") -> bytes:
    """Encode the body of a 200."""
    camel, snake = _FIELDS[signal]
    problem = problem[:MAX_MESSAGE_CHARS]
    if encoding == "json":
        partial_success = {camel: str(rejected), "errorMessage": problem}  # 64 bits are text in protobuf's JSON
        return msgspec.json.encode({"partialSuccess": partial_success} if rejected or problem else {})
    message = _MESSAGES[signal]()
    if rejected or problem:
        setattr(message.partial_success, snake, rejected)
        message.partial_success.error_message = problem
    encoded: bytes = message.SerializeToString()
    return encoded


def code_of(status: int) -> int:
    """Return the google.rpc.Code of an HTTP status."""
    return _CODES.get(status, 13 if status >= 500 else 3)


def to_status(status: int, message: str, encoding: OtlpEncoding) -> bytes:
    """Encode the body of an error with this HTTP status: ``{code, message}``."""
    code, message = code_of(status), message[:MAX_MESSAGE_CHARS]
    if encoding == "json":
        return msgspec.json.encode({"code": code, "message": message})
    encoded_message = message.encode("utf-8", "replace")
    return b"\x08" + bytes([code]) + b"\x12" + _length_and(encoded_message)


def to_retriable_status(status: int, message: str, retry_after_s: int) -> bytes:
    """Encode a `to_status` that asks to send again after some seconds, by the ``RetryInfo`` that gRPC's senders look
    for: they drop what was too much without it."""
    retry_info = b"\x0a" + _length_and(Duration(seconds=retry_after_s).SerializeToString())
    detail = AnyMessage(type_url="type.googleapis.com/google.rpc.RetryInfo", value=retry_info)
    return to_status(status, message, "protobuf") + b"\x1a" + _length_and(detail.SerializeToString())


def _length_and(content: bytes) -> bytes:
    """Encode a field's content with its length before it."""
    return _varint(len(content)) + content


def _varint(value: int) -> bytes:
    """Encode a number as protobuf's varint."""
    varint = bytearray()
    while value > 127:
        varint.append(value & 127 | 128)
        value >>= 7
    return bytes([*varint, value])
