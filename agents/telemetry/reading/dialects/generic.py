"""Spans of no known dialect that still name a model or a tool under a common name."""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span

_MODELS = ("llm.model_name", "llm.request.model", "model_name", "ai.model.id")
_TOOLS = ("tool.name", "tool_name")


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    if any(name in attributes for name in _MODELS):
        return SpanFacts(kind=kinds.LLM, model=first_text(attributes, *_MODELS))
    if any(name in attributes for name in _TOOLS):
        return SpanFacts(kind=kinds.TOOL, tool=first_text(attributes, *_TOOLS))
    return None
