"""Codex CLI over OTLP: spans of Rust's ``tracing``, of which three of many hundred are worth reading.

``session_task.turn`` is a turn (``turn.id``, ``codex.turn.token_usage.*``), ``codex.sampling`` a model's call, and a
tool is the span that dispatches it, named as the tool is (``exec_command``, ``call_id``). All others are
skipped, whatever names of other dialects they have (``turn_id``, ``tool_name``). The spans have no texts: those of
the user and of tools are in log records (`codex_logs`), all of them in its session files (`session_files`).
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import Dialect
from agents.telemetry.reading.spans import Span

TURN, CALL, TOOL = "session_task.turn", "codex.sampling", "exec_command"
_KINDS = {TURN: kinds.AGENT, CALL: kinds.LLM, TOOL: kinds.TOOL}
ADVICE = "Codex sends no answers of its models. Its session files have them."


def is_codex(span: Span) -> bool:
    """Whether a span is Codex's, by its service or its scope."""
    return "codex" in text(span.resource.get("service.name")).lower() or "codex" in span.scope


def _kind(name: str, span: Span) -> str:
    return kinds.TOOL if span.attributes.get("codex.tool.phase") == "dispatch" else _KINDS.get(name, "")


DIALECT = Dialect(
    sender_kind=lambda _, span: span.name if is_codex(span) else None,
    kinds=_kind,
    facts={
        kinds.AGENT: {
            "name": source.constant("codex"),
            "agent": source.constant("codex"),
            "model": ("model", "slug"),
            "usage": source.tokens(
                input="codex.turn.token_usage.input_tokens",
                output="codex.turn.token_usage.output_tokens",
                cached="codex.turn.token_usage.cached_input_tokens",
                reasoning="codex.turn.token_usage.reasoning_output_tokens",
            ),
        },
        kinds.TOOL: {
            "tool": ("tool_name", source.span_name),
            "call_id": "call_id",
            "arguments": ("arguments", "command", "cmd"),
            "result": "output",
        },
        kinds.LLM: {"model": ("model", "slug", "gen_ai.request.model"), "advice": source.constant(ADVICE)},
    },
)
