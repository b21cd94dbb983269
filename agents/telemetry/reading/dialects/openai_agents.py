"""The tracing of OpenAI's Agents SDK (`POST /v1/traces/ingest`), not OpenTelemetry: ``span_data`` by its ``type``.

A trace is sent once, when it begins: ``workflow_name``, ``group_id``, ``metadata``; it has no end. Below it ``custom``
spans of the SDK's own hold its runs (``sdk_span_type`` ``task``) and rounds (``turn``), which are `chain` here.
Traps: ``response``, the model's call of the Responses API and the default, has no text, only ``response_id`` and
usage; ``function`` has no call id; only the agent of a run says that it failed; ``task`` and ``turn`` repeat tokens.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, sequence, text, text_or_json
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span

ADVICE = (
    "The Agents SDK does not send the words of the Responses API. Its Chat Completions model does, and so do "
    "OpenTelemetry's and OpenInference's instrumentations."
)


def reports_failures(_: Values, span: Span) -> bool:
    """Whether a span shows that something below it failed: those of the SDK never do, whoever sends them."""
    return "openai_agents" not in span.scope


def _span_data(span: Span) -> Values:
    data = span.attributes.get("span_data")
    return data if isinstance(data, dict) else span.attributes


def _sender_kind(values: Values, span: Span) -> str:
    attributes = span.attributes
    is_trace = attributes.get("object") == "trace" or "workflow_name" in attributes
    return "trace" if is_trace else text(values.get("type"))


def _kind(sender_kind: str, _: Span) -> str:
    return kinds.WORKFLOW if sender_kind == "trace" else kinds.kind_of(sender_kind) or "custom"


def _agent_extra(values: Values, span: Span) -> Any:
    """Return handoffs and the type of the output, which goes unsaid where it is text."""
    names = ("handoffs",) if values.get("output_type") == "str" else ("handoffs", "output_type")
    return source.present(*names)(values, span)


def _read_guardrail(facts: SpanFacts, values: Values, _: Span) -> None:
    """Read a guardrail. Only its name shows which side it guards."""
    if values.get("triggered") is True:
        facts.violation = f"{facts.tool or 'The guardrail'} was triggered."
    if "output" in facts.tool.lower():
        facts.touchpoint = "assistant-output"


def _read_custom(facts: SpanFacts, values: Values, _: Span) -> None:
    if not facts.sender_kind:
        return  # of no type
    inner = mapping(values.get("data"))
    if inner.get("sdk_span_type") in ("task", "turn"):
        facts.kind, facts.agent = kinds.CHAIN, text(inner.get("agent_name"))
        facts.label = text(inner.get("name")) or " ".join(filter(None, (facts.label, text(inner.get("turn")))))
    facts.extra = {name: value for name, value in inner.items() if name != "sdk_span_type"} or None


def _error(_: Values, span: Span) -> ErrorInfo | None:
    """Read ``{"message", "data"}``: the data often has the real reason."""
    value = span.attributes.get("error")
    if not isinstance(value, dict):
        return None
    inner = value.get("data")
    reason = inner.get("error") if isinstance(inner, dict) else None
    message = ": ".join(filter(None, (text(value.get("message")), text_or_json(reason))))
    return ErrorInfo.model_construct(type="error", message=message or "error")


DIALECT = Dialect(
    values=_span_data,
    sender_kind=_sender_kind,
    kinds=_kind,
    facts={
        EVERY: {"error": _error, "reports_failures": source.constant(False)},
        kinds.WORKFLOW: {"name": "workflow_name"},
        kinds.AGENT: {
            "name": "name",
            "agent": "name",
            "tools": source.converted(
                lambda names: [{"name": name} for name in sequence(names) if isinstance(name, str)], "tools"
            ),
            "extra": _agent_extra,
        },
        kinds.LLM: {  # ``generation``, and ``response``, which has its messages only if it is configured so
            "model": ("response > model", "model"),
            "usage": ("usage", "response > usage"),
            "input_messages": "input",
            "output_messages": ("output", "response > output"),
            "extra": source.present("response_id"),
            "advice": lambda values, _: ADVICE if values.get("type") == "response" else "",
        },
        kinds.TOOL: {
            "tool": "name",
            "arguments": "input",
            "result": "output",
            "label": source.converted(lambda value: "mcp" if value else "", "mcp_data"),
        },
        kinds.HANDOFF: {
            "label": lambda values, _: f"{text(values.get('from_agent'))} -> {text(values.get('to_agent'))}",
            "input": "from_agent",
            "output": "to_agent",
        },
        kinds.GUARDRAIL: {"tool": "name"},
        "custom": {"label": "name"},
        But(kinds.WORKFLOW, kinds.AGENT, kinds.LLM, kinds.TOOL, kinds.HANDOFF, kinds.GUARDRAIL): {
            "input": "input",
            "output": "output",
            "model": "model",
            "extra": source.present("name", "server", "result", "first_content_at"),
        },
    },
    finish={kinds.GUARDRAIL: _read_guardrail, "custom": _read_custom},
)
