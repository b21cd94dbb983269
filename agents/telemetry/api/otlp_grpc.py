"""OTLP's gRPC services: which there are, who calls them, and the status of an error. Knows nothing of the server that
speaks gRPC.

Source: opentelemetry-proto's "OTLP/gRPC" text. A sender retries after UNAVAILABLE, and after RESOURCE_EXHAUSTED only
with a ``RetryInfo``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.api import authentication
from agents.base.errors import AgentsError
from agents.telemetry.api import intake
from agents.telemetry.reading import otlp, otlp_responses
from agents.telemetry.reading.otlp_responses import OtlpSignal
from agents.telemetry.store.external.backlog import backlog

_PACKAGE = "opentelemetry.proto.collector"
SERVICES: Mapping[str, OtlpSignal] = {
    f"{_PACKAGE}.trace.v1.TraceService": "traces",
    f"{_PACKAGE}.logs.v1.LogsService": "logs",
    f"{_PACKAGE}.metrics.v1.MetricsService": "metrics",
}
"""What the calls of each service bring."""
METHOD = "Export"
"""The one method that each of them has."""
MAX_MESSAGE_BYTES = 1000
"""Bytes of an error's message: it travels in headers, twice, with up to three characters for each byte, and clients
take 8 KiB of headers."""


@dataclass(frozen=True, slots=True)
class RpcStatus:
    """The status of a call that failed: a google.rpc.Code, a message, and ``details`` for the metadata
    ``grpc-status-details-bin``, empty without any."""

    code: int
    message: str
    details: bytes = b""


def admit(actor: Actor) -> None:
    """Raise NotAuthenticated, NotAllowed or RateLimited where a sender may not report, or not now; called before its
    message is read."""
    authentication.admit(actor, "ingest")
    backlog.check(actor)


def export(actor: Actor, signal: OtlpSignal, message: bytes) -> bytes:
    """Store the message of a call, and return the message that answers it. Raises InvalidRequest, RateLimited, and
    failures of the database."""
    from_protobuf, _ = otlp.READERS[signal]
    return intake.take_in(actor, signal, "protobuf", lambda: from_protobuf(message))


def status_of(error: AgentsError) -> RpcStatus:
    """Return the status of an error; one that HTTP answers with Retry-After says when to send again."""
    message = error.message.encode("utf-8", "replace")[:MAX_MESSAGE_BYTES].decode("utf-8", "ignore")
    code, retry_after = otlp_responses.code_of(error.status), error.headers.get("Retry-After")
    if retry_after is None:
        return RpcStatus(code, message)
    return RpcStatus(code, message, otlp_responses.to_retriable_status(error.status, message, int(retry_after)))
