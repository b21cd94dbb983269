"""Spans of no known dialect that still name a model or a tool under a common name."""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import Dialect
from agents.telemetry.reading.spans import Span

_MODELS = ("llm.model_name", "llm.request.model", "model_name", "ai.model.id")
_TOOLS = ("tool.name", "tool_name")


def _kind(_: str, span: Span) -> str:
    return kinds.LLM if any(name in span.attributes for name in _MODELS) else kinds.TOOL


DIALECT = Dialect(
    markers=_MODELS + _TOOLS,
    sender_kind=source.constant(""),
    kinds=_kind,
    facts={kinds.LLM: {"model": _MODELS}, kinds.TOOL: {"tool": _TOOLS}},
)
