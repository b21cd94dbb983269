"""Session files of coding agents, as `agents.telemetry.reading.sessions` reads them.

``kind`` is turn, model, tool or agent.

A model's ``input`` is only what was new to it. Traps: Anthropic's ``input_tokens`` leave the cached ones out, Google's
``output`` the thoughts; ``is_error`` marks a tool's failure, and the result is its reason.
"""

from __future__ import annotations

from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, mapping, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.failures import error_of
from agents.telemetry.reading.message_parts import blocks_text
from agents.telemetry.reading.spans import Span

_AGENTS = {
    "claude_code": "claude-code",
    "codex": "codex",
    "gemini_cli": "gemini-cli",
    "openai_chat": "openai-chat",
}
_PROVIDERS = {"claude_code": "anthropic", "codex": "openai", "gemini_cli": "google", "openai_chat": "openai"}


def _agent(values: Values, span: Span) -> str:
    """Return the coding agent of a turn, or the name that a trajectory says; the name of a sub-agent that it
    started."""
    if values["kind"] == "turn":
        return _AGENTS.get(span.format) or text(values.get("name"))
    return text(values.get("name")) or span.name


def _google_usage(values: Values, _: Span) -> Usage | None:
    """Read Google's usage. Thoughts are added where the total shows that they are not in ``output``."""
    usage = mapping(values.get("usage"))
    input_tokens, output_tokens, reasoning = (count(usage.get(name)) for name in ("input", "output", "thoughts"))
    if reasoning and count(usage.get("total")) == input_tokens + output_tokens + reasoning:
        output_tokens += reasoning
    return token_usage(input_tokens, output_tokens, count(usage.get("cached")), reasoning)


_USAGE: dict[str, source.Source] = {
    "codex": source.usage("usage"),
    "claude_code": source.tokens(
        input="usage > input_tokens",
        output="usage > output_tokens",
        cached="usage > cache_read_input_tokens",
        written="usage > cache_creation_input_tokens",
        apart=True,
    ),
    "gemini_cli": _google_usage,
    "openai_chat": source.usage("usage"),
    "atif": source.usage("usage"),
}


def _error(values: Values, span: Span) -> ErrorInfo | None:
    if values.get("is_error") is True or span.failed:
        return error_of(span.message or blocks_text(values.get("result")))
    return None


DIALECT = Dialect(
    sender_kind="kind",
    kinds={"turn": kinds.AGENT, "agent": kinds.AGENT, "model": kinds.LLM, "tool": kinds.TOOL},
    facts={
        EVERY: {"interrupted": lambda values, _: values.get("interrupted") is True},
        kinds.AGENT: {
            "name": _agent,
            "agent": _agent,
            "model": "model",
            "instructions": "instructions",
            "input_messages": "input",
            "output_messages": "output",
            "extra": source.converted(lambda value: mapping(value) or None, "totals"),
        },
        kinds.LLM: {
            "model": "model",
            "provider": lambda _, span: _PROVIDERS.get(span.format),
            "finish": "stop_reason",
            "input_messages": "input",
            "output_messages": "output",
            "tools": "tools",
            "usage": lambda values, span: _USAGE[span.format](values, span),
            "cost_nano": "cost_usd",
            "ttft_us": "time_to_first_token_ms",
        },
        kinds.TOOL: {
            "tool": ("name", source.span_name),
            "call_id": ("call_id", lambda _, span: span.id),
            "arguments": "arguments",
            "result": "result",
            "error": _error,
        },
    },
)
