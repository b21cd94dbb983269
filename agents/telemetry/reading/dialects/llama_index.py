"""What LlamaIndex writes into OpenInference's spans, where these have no names for it.

A workflow's input is its configuration, its events are Python's reprs (`input_output` prefers the words of models to
these). A tool's result is JSON of its ``ToolOutput``. ``_prepare_chat_with_tools`` is reported as a model's call, and
calls none.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading.coerce import json_of
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.spans import Span

_PREPARATION = "._prepare_chat_with_tools"
_TOOL_OUTPUT = frozenset({"blocks", "tool_name", "raw_output"})


def prepares_call(span: Span) -> bool:
    """Tell whether a span only prepares the call of a model."""
    return span.name.endswith(_PREPARATION)


def tool_result(value: Any) -> Any:
    """Return the words of a tool's output, anything else as it is."""
    output = json_of(value) if isinstance(value, str) and '"raw_output"' in value else None
    if isinstance(output, dict) and output.keys() >= _TOOL_OUTPUT:
        return blocks_text(output["blocks"])
    return value
