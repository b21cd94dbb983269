"""A sender of reports over gRPC, as the generic client of grpcio makes its calls; and small reports as protobuf."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.json_format import ParseDict
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.telemetry.reading import reports

PACKAGE = "opentelemetry.proto.collector"
TRACES = f"/{PACKAGE}.trace.v1.TraceService/Export"
LOGS = f"/{PACKAGE}.logs.v1.LogsService/Export"
METRICS = f"/{PACKAGE}.metrics.v1.MetricsService/Export"
TIMEOUT_S = 60


def report(*spans: Any) -> bytes:
    """An ExportTraceServiceRequest of spans as `reports` makes them; protobuf's JSON has ids in base64."""
    request = reports.request(*spans)
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
            span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return bytes(ParseDict(request, ExportTraceServiceRequest()).SerializeToString())


@dataclass(frozen=True)
class Outcome:
    """What came of a call: its status, the message that answers it, and the metadata that ends it."""

    code: grpc.StatusCode
    details: str = ""
    message: bytes = b""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def retry_after_s(self) -> int | None:
        """After how many seconds to send again; None where nothing says so. It must say what the status says."""
        encoded = self.metadata.get("grpc-status-details-bin")
        if encoded is None:
            return None
        status = status_pb2.Status.FromString(encoded)
        assert (status.code, status.message) == (self.code.value[0], self.details)
        [detail] = status.details
        retry_info = error_details_pb2.RetryInfo()
        assert detail.Unpack(retry_info)
        return int(retry_info.retry_delay.seconds)


class GrpcSender:
    """Makes calls over one connection, with a key or without."""

    def __init__(self, channel: Any, **metadata: str) -> None:
        self._channel, self._metadata = channel, [(name.replace("_", "-"), text) for name, text in metadata.items()]

    def with_metadata(self, **metadata: str) -> GrpcSender:
        """The same with other metadata."""
        return GrpcSender(self._channel, **metadata)

    def begin(self, message: bytes, path: str = TRACES, *, packed: bool = False) -> Any:
        """Begin a call, and return grpcio's future of it."""
        compression = grpc.Compression.Gzip if packed else grpc.Compression.NoCompression
        call = self._channel.unary_unary(path)
        return call.future(message, timeout=TIMEOUT_S, metadata=self._metadata, compression=compression)

    def send(self, message: bytes, path: str = TRACES, *, packed: bool = False) -> Outcome:
        return outcome(self.begin(message, path, packed=packed))

    def begin_stream(self, messages: Iterable[bytes], path: str = TRACES) -> Any:
        """Begin a call whose messages come one by one, where the service expects one."""
        call = self._channel.stream_unary(path)
        return call.future(iter(messages), timeout=TIMEOUT_S, metadata=self._metadata)


def outcome(call: Any) -> Outcome:
    """Wait for a call."""
    try:
        message, code, details = bytes(call.result()), call.code(), ""
    except grpc.RpcError as error:
        failed: Any = error
        message, code, details = b"", failed.code(), failed.details()
    return Outcome(code, details, message, dict(call.trailing_metadata() or ()))


@contextmanager
def connected(port: int, **metadata: str) -> Iterator[GrpcSender]:
    """A sender to a port of this machine; ``x_api_key`` stands for ``x-api-key``."""
    options = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options) as channel:
        yield GrpcSender(channel, **metadata)
