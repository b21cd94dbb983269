"""Llama Stack's own telemetry, before 0.3 (``__type__``, ``__class__``, ``__method__``, ``__args__``).

An agent's turn is a span ``create_and_execute_turn`` with ``agent_id``, ``session_id``, ``turn_id``; below it
``inference`` (``output``, ``stop_reason``), ``tool_execution`` (``tool_name``, ``input``, ``output``), ``run_shields``
with one ``run_shield_<id>`` a shield. All others are method calls of its providers, which are skipped.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, text
from agents.telemetry.reading.dialects.reader import Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.spans import Span


def _sender_kind(values: Values, span: Span) -> str | None:
    name = span.name
    if name in ("inference", "tool_execution", "run_shields"):
        return name
    if name.startswith("run_shield"):
        return "run_shield"
    return "turn" if "turn_id" in values or "create_and_execute_turn" in name else None


def _violation(values: Values, _: Span) -> str:
    output = mapping(values.get("output"))
    return text(output.get("user_message")) if output.get("violation_level") == "error" else ""


DIALECT = Dialect(
    markers=("__type__", "__root__", "__root_span__", "agent_id", "turn_id", "step_id"),
    sender_kind=_sender_kind,
    kinds={
        "turn": kinds.AGENT,
        "inference": kinds.LLM,
        "tool_execution": kinds.TOOL,
        "run_shields": kinds.CHAIN,  # only groups the shields that ran
        "run_shield": kinds.GUARDRAIL,
    },
    facts={
        kinds.AGENT: {
            "name": "agent_name",
            "agent": "agent_name",
            "input_messages": ("request > messages", "__args__ > messages"),
        },
        kinds.LLM: {
            "model": ("model", "model_id"),
            "finish": "stop_reason",
            "input_messages": "input",
            "output_messages": "output",
        },
        kinds.TOOL: {"tool": "tool_name", "arguments": "input", "result": "output"},
        kinds.GUARDRAIL: {
            "tool": lambda _, span: span.name.removeprefix("run_shield_"),
            "input": "input",
            "violation": _violation,
        },
    },
)
