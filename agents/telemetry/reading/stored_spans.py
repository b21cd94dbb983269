"""The spans of a trace as they are stored: reports, each a JSON list of spans."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from agents.telemetry.reading.spans import Span

MAX_SPANS, MAX_BYTES = 150_000, 512 * 2**20
"""Bounds of a trace: the spans that become steps, and their size as JSON."""

_decode = msgspec.json.Decoder(list[Span]).decode


def first_spans(bodies: Iterable[bytes]) -> list[Span]:
    """Decode the first spans of the reports: a trace has no bound, memory has."""
    spans: list[Span] = []
    size = 0
    for body in bodies:
        size += len(body)
        if size > MAX_BYTES and spans:
            break
        spans += _decode(body)
        if len(spans) >= MAX_SPANS:
            break
    return spans[:MAX_SPANS]


def format_of(spans: list[Span]) -> str:
    """The format of a trace: that of its first span."""
    return spans[0].format if spans else "otlp"
