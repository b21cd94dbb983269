"""Session files of coding agents, as `agents.telemetry.reading.sessions` reads them.

``kind`` is turn, model, tool or agent.

A model's ``input`` is only what was new to it. Traps: Anthropic's ``input_tokens`` leave the cached ones out, Google's
``output`` the thoughts; ``is_error`` marks a tool's failure, and the result is its reason.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import Usage
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, mapping, microseconds, text
from agents.telemetry.reading.dialects.token_usage import token_usage, usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

_KINDS = {"turn": kinds.AGENT, "model": kinds.LLM, "tool": kinds.TOOL, "agent": kinds.AGENT}
_AGENTS = {"claude_code": "claude-code", "codex": "codex", "gemini_cli": "gemini-cli"}
_PROVIDERS = {"claude_code": "anthropic", "codex": "openai", "gemini_cli": "google"}


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get("kind"))
    kind = _KINDS.get(sender_kind)
    if kind is None:
        return None
    facts = SpanFacts(kind=kind, sender_kind=sender_kind, interrupted=attributes.get("interrupted") is True)
    if kind == kinds.LLM:
        _fill_model(facts, span)
    elif kind == kinds.TOOL:
        _fill_tool(facts, attributes, span)
    else:
        _fill_agent(facts, span, sender_kind)
    return facts


def _fill_agent(facts: SpanFacts, span: Span, sender_kind: str) -> None:
    """Read a turn, which is the coding agent's own, or a sub-agent that it started."""
    attributes = span.attributes
    facts.name = _AGENTS.get(span.format, "") if sender_kind == "turn" else text(attributes.get("name")) or span.name
    facts.agent, facts.model = facts.name, text(attributes.get("model"))
    facts.instructions = attributes.get("instructions")
    facts.input_messages = LazyMessages(attributes.get("input"), read_input)
    if attributes.get("output"):
        facts.output_messages = LazyMessages(attributes["output"], read_output)
    facts.extra = mapping(attributes.get("totals")) or None


def _fill_model(facts: SpanFacts, span: Span) -> None:
    attributes = span.attributes
    facts.model, facts.provider = text(attributes.get("model")), _PROVIDERS.get(span.format, "")
    facts.finish = text(attributes.get("stop_reason"))
    facts.input_messages, facts.output_messages = (
        LazyMessages(attributes.get("input"), read_input),
        LazyMessages(attributes.get("output"), read_output),
    )
    facts.usage = _usage(span.format, mapping(attributes.get("usage")))
    facts.ttft_us = microseconds(attributes.get("time_to_first_token_ms"), 1e3)


def _usage(format: str, values: dict[str, Any]) -> Usage | None:
    if format == "claude_code":
        cached = count(values.get("cache_read_input_tokens"))
        input_tokens = count(values.get("input_tokens")) + cached + count(values.get("cache_creation_input_tokens"))
        return token_usage(input_tokens, count(values.get("output_tokens")), cached)
    if format == "gemini_cli":
        return _google_usage(values)
    return usage_of(values)


def _google_usage(values: dict[str, Any]) -> Usage | None:
    """Read Google's usage. Thoughts are added where the total shows that they are not in ``output``."""
    input_tokens, output_tokens, reasoning = (count(values.get(name)) for name in ("input", "output", "thoughts"))
    if reasoning and count(values.get("total")) == input_tokens + output_tokens + reasoning:
        output_tokens += reasoning
    return token_usage(input_tokens, output_tokens, count(values.get("cached")), reasoning)


def _fill_tool(facts: SpanFacts, attributes: dict[str, Any], span: Span) -> None:
    facts.tool = text(attributes.get("name")) or span.name
    facts.call_id = text(attributes.get("call_id")) or span.id
    facts.arguments, facts.result = attributes.get("arguments"), attributes.get("result")
    if attributes.get("is_error") is True or span.failed:
        facts.error = error_of(span.message or blocks_text(facts.result))
