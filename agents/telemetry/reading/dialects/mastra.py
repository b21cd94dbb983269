"""Mastra's exporter for OpenTelemetry, in so far as it differs from the GenAI conventions, which it follows.

``mastra.span.type`` is the kind of a span. A run's question is in ``mastra.agent_run.input``. A ``model_step`` has the
history and the answer with its calls, the ``model_inference`` below it the tokens: two reports of one call. What a
tool answered is cut out of histories. ``model_chunk`` is a part of a stream.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, sequence, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall

_KINDS = {
    "agent_run": kinds.AGENT,
    "workflow_run": kinds.WORKFLOW,
    "workflow_step": kinds.CHAIN,
    "model_generation": kinds.CHAIN,
    "model_step": kinds.LLM,
    "model_inference": kinds.LLM,
    "tool_call": kinds.TOOL,
    "mcp_tool_call": kinds.TOOL,
    "model_chunk": "",
}


def _answer(value: Any) -> list[HistoryMessage]:
    """Read ``{"text": …, "toolCalls": [{"toolCallId", "toolName", "args"}]}``."""
    output = mapping(value)
    calls = [
        RequestedCall(text(call.get("toolCallId")), text(call.get("toolName")), call.get("args"))
        for call in sequence(output.get("toolCalls"))
        if isinstance(call, dict)
    ]
    answer = text(output.get("text"))
    return [HistoryMessage("assistant", [answer] if answer else [], calls)] if answer or calls else []


DIALECT = Dialect(
    sender_kind="mastra.span.type",
    kinds=lambda kind, _: _KINDS.get(kind, kinds.kind_of(kind)),
    facts={
        EVERY: {},
        kinds.AGENT: {
            "input_messages": "mastra.agent_run.input",
            "output_messages": source.messages("mastra.agent_run.output", read=_answer),
        },
        kinds.LLM: {
            "input_messages": "mastra.model_step.input",
            "output_messages": source.messages("mastra.model_step.output", read=_answer),
        },
    },
)
