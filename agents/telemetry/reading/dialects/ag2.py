"""AG2 since version 1, in so far as it differs from OpenTelemetry's GenAI conventions, which it follows.

Beside each call of a model lies a span ``record_usage model_call`` with the same tokens, which is no call. Other kinds
of usage (``subtask``, ``compaction``, ``aggregation``) are of calls that no other span reports.
"""

from __future__ import annotations

from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.dialects.reader import Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.spans import Span

_KIND = "ag2.span.type"


def _sender_kind(values: Values, _: Span) -> str | None:
    """Return the kind of a span that is to be skipped; all others are those of the conventions."""
    repeats = values.get(_KIND) == "usage" and text(values.get("ag2.usage.kind")) == "model_call"
    return "usage" if repeats else None


DIALECT = Dialect(markers=(_KIND,), sender_kind=_sender_kind, kinds={}, facts={})
