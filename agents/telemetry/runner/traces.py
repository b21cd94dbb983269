"""A turn of this server as an OTLP request."""

from __future__ import annotations

from agents.base.access import Actor
from agents.record.store import turn_records
from agents.telemetry.wire import otlp, otlp_encoding


def trace_json(actor: Actor, turn: int) -> bytes:
    """Encode a turn's spans as OTLP's request for traces, as JSON. Raises NotFound."""
    return otlp_encoding.as_json(otlp.spans(turn_records.read(actor, turn)))
