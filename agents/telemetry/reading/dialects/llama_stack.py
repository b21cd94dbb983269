"""Llama Stack's own telemetry, before 0.3 (``__type__``, ``__class__``, ``__method__``, ``__args__``).

An agent's turn is a span ``create_and_execute_turn`` with ``agent_id``, ``session_id``, ``turn_id``; below it
``inference`` (``output``, ``stop_reason``), ``tool_execution`` (``tool_name``, ``input``, ``output``), ``run_shields``
with one ``run_shield_<id>`` a shield. All others are method calls of its providers, which are skipped.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text, mapping, text
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

_MARKERS = ("__type__", "__root__", "__root_span__", "agent_id", "turn_id", "step_id")


def read(span: Span) -> SpanFacts | None:
    attributes, name = span.attributes, span.name
    if not any(marker in attributes for marker in _MARKERS):
        return None
    if name == "inference":
        return _model(span)
    if name == "tool_execution":
        tool = SpanFacts(kind=kinds.TOOL, sender_kind=name, tool=text(attributes.get("tool_name")))
        tool.arguments, tool.result = attributes.get("input"), attributes.get("output")
        return tool
    if name.startswith("run_shield"):
        return _shield(span)
    if "turn_id" in attributes or "create_and_execute_turn" in name:
        return _turn(span)
    return None


def _model(span: Span) -> SpanFacts:
    attributes = span.attributes
    facts = SpanFacts(kind=kinds.LLM, sender_kind="inference", finish=text(attributes.get("stop_reason")))
    facts.model = first_text(attributes, "model", "model_id")
    if "input" in attributes:
        facts.input_messages = LazyMessages(attributes["input"], read_input)
    if "output" in attributes:
        facts.output_messages = LazyMessages(attributes["output"], read_output)
    return facts


def _shield(span: Span) -> SpanFacts:
    """Read a shield's span. ``run_shields`` only groups the shields that ran."""
    if span.name == "run_shields":
        return SpanFacts(kind=kinds.CHAIN, sender_kind=span.name)
    output = mapping(span.attributes.get("output"))
    violation = output.get("user_message") if output.get("violation_level") == "error" else ""
    return SpanFacts(
        kind=kinds.GUARDRAIL,
        sender_kind="run_shield",
        tool=span.name.removeprefix("run_shield_"),
        input=span.attributes.get("input"),
        violation=text(violation),
    )


def _turn(span: Span) -> SpanFacts:
    attributes = span.attributes
    facts = SpanFacts(kind=kinds.AGENT, sender_kind="turn", name=text(attributes.get("agent_name")))
    facts.agent = facts.name
    request = mapping(attributes.get("request") or attributes.get("__args__"))
    messages = request.get("messages")
    if messages is not None:
        facts.input_messages = LazyMessages(messages, read_input)
    return facts
