"""What becomes of a report, whichever way it came: its spans are stored, a refusal is counted.

`agents.telemetry.api.otlp` takes them over HTTP, `agents.telemetry.api.otlp_grpc` over gRPC.
"""

from __future__ import annotations

from collections.abc import Callable

from agents.base.access import Actor
from agents.base.errors import AgentsError
from agents.telemetry.reading import otlp_responses
from agents.telemetry.reading.decoding import Decoded
from agents.telemetry.reading.otlp_responses import OtlpEncoding, OtlpSignal
from agents.telemetry.store.external import inbox
from agents.telemetry.store.external.backlog import backlog
from agents.telemetry.store.external.backpressure import ingest_load
from agents.telemetry.store.external.projector import projector
from agents.telemetry.store.external.refused_reports import refusals


def take_in(actor: Actor, signal: OtlpSignal, encoding: OtlpEncoding, read: Callable[[], Decoded]) -> bytes:
    """Store the report that ``read`` decodes, and return OTLP's response. Raises what ``read`` does, RateLimited, and
    failures of the database."""
    with ingest_load.track():
        decoded = read()
    store(actor, decoded)
    return otlp_responses.to_response(signal, encoding, decoded.rejected, decoded.problem)


def store(actor: Actor, decoded: Decoded) -> None:
    """Store decoded spans, and wake the projectors. Raises RateLimited, and failures of the database."""
    backlog.check(actor, len(decoded.spans))
    with ingest_load.track():
        inbox.accept(actor, decoded.spans)
    projector.wake()


def count_refusal(actor: Actor | None, path: str, error: Exception) -> None:
    """Count a report that is refused, so that its sender can find out why: not for trouble of ours. ``actor`` is None
    where it could not be identified; ``path`` has names for its ids."""
    if isinstance(error, AgentsError) and error.status < 500:
        refusals.add(actor, path, error)
