"""Codex CLI over OTLP: spans of Rust's ``tracing``, of which three of many hundred are worth reading.

``session_task.turn`` is a turn (``turn.id``, ``codex.turn.token_usage.*``), ``codex.sampling`` a model's call, and a
tool is the span that dispatches it, named as the tool is (``exec_command``, ``call_id``). All others are
skipped, whatever names of other dialects they have (``turn_id``, ``tool_name``). The spans have no texts: those of
the user and of tools are in log records (`codex_logs`), all of them in its session files (`session_files`).
"""

from __future__ import annotations

from agents.record.schemas.content import Usage
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, first_text, first_value, text
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import SpanFacts
from agents.telemetry.reading.spans import Span

TURN, CALL, TOOL = "session_task.turn", "codex.sampling", "exec_command"
_KINDS = {TURN: kinds.AGENT, CALL: kinds.LLM, TOOL: kinds.TOOL}
ADVICE = "Codex sends no answers of its models. Its session files have them."


def read(span: Span) -> SpanFacts | None:
    if not is_codex(span):
        return None
    attributes = span.attributes
    kind = kinds.TOOL if attributes.get("codex.tool.phase") == "dispatch" else _KINDS.get(span.name, "")
    facts = SpanFacts(kind=kind, sender_kind=span.name)
    if kind == kinds.AGENT:
        facts.name = facts.agent = "codex"
        facts.model = first_text(attributes, "model", "slug")
        facts.usage = _turn_usage(span)
    elif kind == kinds.TOOL:
        facts.tool, facts.call_id = text(attributes.get("tool_name")) or span.name, text(attributes.get("call_id"))
        facts.arguments = first_value(attributes, "arguments", "command", "cmd")
        facts.result = attributes.get("output")
    elif kind == kinds.LLM:
        facts.model = first_text(attributes, "model", "slug", "gen_ai.request.model")
        facts.advice = ADVICE
    return facts


def is_codex(span: Span) -> bool:
    """Whether a span is Codex's, by its service or its scope."""
    return "codex" in text(span.resource.get("service.name")).lower() or "codex" in span.scope


def _turn_usage(span: Span) -> Usage | None:
    attributes = span.attributes
    name = "codex.turn.token_usage."
    return token_usage(
        count(attributes.get(name + "input_tokens")),
        count(attributes.get(name + "output_tokens")),
        count(attributes.get(name + "cached_input_tokens")),
        count(attributes.get(name + "reasoning_output_tokens")),
    )
