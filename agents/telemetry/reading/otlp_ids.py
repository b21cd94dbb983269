"""OTLP's ids: 16 bytes of a trace, 8 of a span, never all zero. `Batch` counts the spans that have no valid ones."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Literal

from agents.base.errors import InvalidRequest
from agents.telemetry.reading.decoding import Decoded, rejection_summary
from agents.telemetry.reading.spans import Span

TRACE_BYTES = 16
SPAN_BYTES = 8

Signal = Literal["traces", "logs"]

_HINTS: dict[Signal, str] = {
    "traces": "No span has a trace id of 16 bytes and a span id of 8. Are these logs or metrics? "
    "Logs are taken at /v1/logs, metrics at /v1/metrics.",
    "logs": "No log record has a trace id of 16 bytes and a span id of 8. Are these spans? "
    "They are taken at /v1/traces.",
}


def id_from_bytes(value: bytes, length: int) -> str:
    """Return an id in hex; '' of bytes that are none."""
    return value.hex() if len(value) == length and any(value) else ""


def id_from_text(value: object, length: int) -> str:
    """Return an id in hex of text: hex in any case, as OTLP says, or base64, as protobuf's own JSON writes bytes."""
    return id_from_bytes(_id_bytes(value, length), length) if isinstance(value, str) else ""


def _id_bytes(value: str, length: int) -> bytes:
    try:
        if len(value) == 2 * length:
            return bytes.fromhex(value)
        if len(value) == 4 * ((length + 2) // 3):
            return base64.b64decode(value, validate=True)
    except (ValueError, binascii.Error):
        pass
    return b""


_RULE = "a trace id has 16 bytes and a span id 8, and they are not all zero."


@dataclass(slots=True)
class Batch:
    """The spans that one request is decoded into."""

    signal: Signal
    spans: list[Span] = field(default_factory=list)
    rejected: int = 0
    ignored: int = 0

    def decoded(self) -> Decoded:
        """Return the result. Raises `InvalidRequest` if nothing had valid ids: the body is then of another signal."""
        if not self.rejected:
            return Decoded(self.spans, ignored=self.ignored)
        if not self.spans:
            raise InvalidRequest(_HINTS[self.signal], code="invalid_body")
        noun = "span" if self.signal == "traces" else "log record"
        return Decoded(self.spans, self.rejected, rejection_summary(self.rejected, noun, _RULE), self.ignored)
