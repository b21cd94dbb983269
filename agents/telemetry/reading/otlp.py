"""Decoder of OpenTelemetry's own format: the bodies of ``POST /v1/traces`` and ``/v1/logs``, as protobuf and as JSON.

Source: opentelemetry-proto 1.11 and its "OTLP/HTTP" text. A log record that names its span is a `Span` with
``is_log``, one event and no more; others are ignored. Spans with bad ids are rejected one by one; a body
that is no OTLP is refused as a whole by `InvalidRequest`. Spans of one resource share its dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agents.base.errors import InvalidRequest
from agents.telemetry.reading import otlp_json, otlp_protobuf
from agents.telemetry.reading.decoding import Decoded, FormatError, as_object, raises_invalid_request
from agents.telemetry.reading.otlp_ids import Batch
from agents.telemetry.reading.otlp_responses import OtlpSignal

__all__ = ["READERS", "Decoded", "logs_from_json", "logs_from_protobuf", "traces_from_json", "traces_from_protobuf"]

_SIGNAL_BY_LIST: dict[str, str] = {"resourceSpans": "traces", "resourceLogs": "logs", "resourceMetrics": "metrics"}


def traces_from_protobuf(data: bytes) -> Decoded:
    """Decode the spans of an ExportTraceServiceRequest."""
    batch = Batch("traces")
    _from_protobuf(otlp_protobuf.read_traces, data, batch)
    return batch.decoded()


def logs_from_protobuf(data: bytes) -> Decoded:
    """Decode the log records of an ExportLogsServiceRequest that name a span."""
    batch = Batch("logs")
    _from_protobuf(otlp_protobuf.read_logs, data, batch)
    return batch.decoded()


@raises_invalid_request
def traces_from_json(body: object) -> Decoded:
    """Decode the spans of an ExportTraceServiceRequest in OTLP/JSON."""
    batch = Batch("traces")
    otlp_json.read_traces(_checked_request(body, "resourceSpans"), batch)
    return batch.decoded()


@raises_invalid_request
def logs_from_json(body: object) -> Decoded:
    """Decode the log records of an ExportLogsServiceRequest in OTLP/JSON that name a span."""
    batch = Batch("logs")
    otlp_json.read_logs(_checked_request(body, "resourceLogs"), batch)
    return batch.decoded()


def _ignored(body: object) -> Decoded:
    return Decoded()


READERS: Mapping[OtlpSignal, tuple[Callable[[bytes], Decoded], Callable[[Any], Decoded]]] = {
    "traces": (traces_from_protobuf, traces_from_json),
    "logs": (logs_from_protobuf, logs_from_json),
    "metrics": (_ignored, _ignored),
}
"""The decoders of each signal, of protobuf and of decoded JSON. Metrics are accepted and dropped: spans have the same
facts, and senders fill their logs with errors where metrics are refused."""


def _from_protobuf(read: Callable[[bytes, Batch], None], data: bytes, batch: Batch) -> None:
    if data[:1] in (b"{", b"["):
        raise InvalidRequest("The body looks like JSON: send it as application/json.", code="invalid_body")
    read(data, batch)


def _checked_request(body: object, name: str) -> dict[str, object]:
    """Return the body, which is empty or has the list of this name. Other fields are ignored, as the specification
    says."""
    request = as_object(body)
    if not request or name in request:
        return request
    for other, signal in _SIGNAL_BY_LIST.items():
        if other in request:
            raise FormatError(f"these are {signal}: send them to /v1/{signal}.", other)
    raise FormatError(f"the field is missing. OTLP/JSON is an object with {name}, in lowerCamelCase.", name)
