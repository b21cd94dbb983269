"""Pydantic AI and Logfire, where they go beyond OpenTelemetry's conventions (scopes ``pydantic-ai``, ``logfire*``).

``logfire.instrument_openai()`` puts a model's call into ``request_data``/``response_data`` (JSON); the span's name is a
template then, and ``logfire.msg`` the text. Traps: a pending span (``logfire.span_type``) repeats one that comes
later; a run makes up a ``conversation.id`` of its own, also one inside a tool; the usage of a run is
``gen_ai.aggregated_usage.*``, never to be added.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.spans import Span


def is_pending(span: Span) -> bool:
    return span.attributes.get("logfire.span_type") == "pending_span"


def _call(span: Span) -> Values:
    """Return the request, with the response under a name in it."""
    attributes = span.attributes
    return {**mapping(attributes["request_data"]), "response": mapping(attributes.get("response_data"))}


DIALECT = Dialect(
    markers=("request_data",),
    values=_call,
    sender_kind=lambda values, _: "request" if "model" in values else None,
    kinds={"request": kinds.LLM},
    facts={
        EVERY: {
            "model": "model",
            "input_messages": ("messages", "input"),
            "output_messages": ("response > message", "response > output"),
            "usage": "response > usage",
            "instructions": "instructions",
            "tools": "tools",
        }
    },
)
