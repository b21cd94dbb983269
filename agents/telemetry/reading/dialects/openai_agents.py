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
from agents.telemetry.reading.coerce import mapping, text, text_or_json
from agents.telemetry.reading.dialects.token_usage import usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

ADVICE = (
    "The Agents SDK does not send the words of the Responses API. Its Chat Completions model does, and so do "
    "OpenTelemetry's and OpenInference's instrumentations."
)


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    if attributes.get("object") == "trace" or "workflow_name" in attributes:
        name = text(attributes.get("workflow_name"))
        return SpanFacts(kind=kinds.WORKFLOW, sender_kind="trace", name=name, reports_failures=False)
    data = attributes.get("span_data")
    data = data if isinstance(data, dict) else attributes
    sender_kind = text(data.get("type"))
    facts = SpanFacts(kind=kinds.kind_of(sender_kind) or "custom", sender_kind=sender_kind, reports_failures=False)
    _FILLERS.get(sender_kind, _fill_other)(facts, data, span)
    if facts.error is None:
        facts.error = _error(attributes.get("error"))
    return facts


def _fill_agent(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    facts.name = facts.agent = text(data.get("name"))
    names = data.get("tools")
    facts.tools = [{"name": name} for name in names if isinstance(name, str)] if isinstance(names, list) else None
    extra_names = ("handoffs",) if data.get("output_type") == "str" else ("handoffs", "output_type")  # text goes unsaid
    facts.extra = _present(data, *extra_names)


def _fill_generation(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    facts.model = text(data.get("model"))
    facts.usage = usage_of(data.get("usage"))
    facts.input_messages, facts.output_messages = (
        LazyMessages(data.get("input"), read_input),
        LazyMessages(data.get("output"), read_output),
    )


def _fill_response(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    """Read a response. Older versions, and those so configured, send the messages as ``input`` and ``response``."""
    response = mapping(data.get("response"))
    facts.model = text(response.get("model") or data.get("model"))
    facts.usage = usage_of(data.get("usage")) or usage_of(response.get("usage"))
    if data.get("input"):
        facts.input_messages = LazyMessages(data["input"], read_input)
    if response.get("output"):
        facts.output_messages = LazyMessages(response["output"], read_output)
    facts.extra = _present(data, "response_id")
    facts.advice = ADVICE


def _fill_function(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    facts.tool = text(data.get("name"))
    facts.arguments, facts.result = data.get("input"), data.get("output")
    facts.label = "mcp" if data.get("mcp_data") else ""


def _fill_handoff(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    facts.label = f"{text(data.get('from_agent'))} -> {text(data.get('to_agent'))}"
    facts.input, facts.output = data.get("from_agent"), data.get("to_agent")


def _fill_guardrail(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    """Read a guardrail. Only its name shows which side it guards."""
    facts.tool = text(data.get("name"))
    if data.get("triggered") is True:
        facts.violation = f"{facts.tool or 'The guardrail'} was triggered."
    if "output" in facts.tool.lower():
        facts.touchpoint = "assistant-output"


def _fill_custom(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    inner = mapping(data.get("data"))
    own = inner.get("sdk_span_type")
    facts.label = text(data.get("name"))
    if own in ("task", "turn"):
        facts.kind, facts.agent = kinds.CHAIN, text(inner.get("agent_name"))
        facts.label = text(inner.get("name")) or " ".join(filter(None, (facts.label, text(inner.get("turn")))))
    facts.extra = {name: value for name, value in inner.items() if name != "sdk_span_type"} or None


def _fill_other(facts: SpanFacts, data: dict[str, Any], span: Span) -> None:
    facts.input, facts.output = data.get("input"), data.get("output")
    facts.model = text(data.get("model"))
    facts.extra = _present(data, "name", "server", "result", "first_content_at")


def _present(data: dict[str, Any], *names: str) -> dict[str, Any] | None:
    return {name: data[name] for name in names if data.get(name)} or None


def _error(value: Any) -> ErrorInfo | None:
    """Read ``{"message", "data"}``: the data often has the real reason."""
    if not isinstance(value, dict):
        return None
    inner = value.get("data")
    reason = inner.get("error") if isinstance(inner, dict) else None
    message = ": ".join(filter(None, (text(value.get("message")), text_or_json(reason))))
    return ErrorInfo.model_construct(type="error", message=message or "error")


_FILLERS = {
    "agent": _fill_agent,
    "generation": _fill_generation,
    "response": _fill_response,
    "function": _fill_function,
    "handoff": _fill_handoff,
    "guardrail": _fill_guardrail,
    "custom": _fill_custom,
}
