"""Claude Code's own spans (beta; scope ``com.anthropic.claude_code.tracing``), and the prompt and answer in their
events.

``span.type`` is ``interaction`` > ``llm_request`` and ``tool``; below a tool ``tool.blocked_on_user`` and
``tool.execution``, which only time it and are skipped. Names are flat: ``input_tokens`` (without the cached
ones), ``tool_name``, ``tool_use_id``, ``success``, ``ttft_ms``. Texts are in ``user_prompt``, in the event
``tool.output`` and in records ``user_prompt``, ``assistant_response`` of the interaction, each only if its user
switched it on. Log records of single calls and tools are added by `claude_code_logs`.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import json_of, text, text_or_json
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.spans import Span

SCOPE = "com.anthropic.claude_code.tracing"
REDACTED = "<REDACTED>"
TURN = "interaction"
ADVICE = (
    "Claude Code's spans carry no answers of its models. Its session file has them; with OTEL_LOG_USER_PROMPTS=1, "
    "OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1 its records have prompts and tools."
)
_ARGUMENT_NAMES = (
    *("file_path", "full_command", "command", "pattern", "path", "url", "query"),
    *("description", "subagent_type", "prompt"),
)


def _sender_kind(values: Values, span: Span) -> str | None:
    span_type = values["span.type"]
    is_own = span.scope == SCOPE or span.name.startswith("claude_code.")
    return span_type if is_own and isinstance(span_type, str) else None


def _agent(_: Values, span: Span) -> str:
    return text(span.resource.get("service.name")) or "claude-code"


def _read_interaction(facts: SpanFacts, values: Values, span: Span) -> None:
    prompt = text(values.get("user_prompt"))
    answer = ""
    for event in sorted(span.events, key=lambda event: event.at_ns):
        if event.name.endswith("user_prompt"):
            prompt = prompt or text(event.attributes.get("prompt"))
        elif event.name.endswith("assistant_response"):
            answer = text(event.attributes.get("response")) or answer
    if prompt and prompt != REDACTED:
        facts.input_messages = LazyMessages([HistoryMessage("user", [prompt])], None)
    if answer and answer != REDACTED:
        facts.output_messages = LazyMessages([HistoryMessage("assistant", [answer])], None)


def _arguments(values: Values, _: Span) -> Any:
    """Return the arguments, which may be attributes of their own: ``file_path``, ``full_command`` and the like."""
    arguments = json_of(values.get("tool_input"))
    if not isinstance(arguments, dict):
        arguments = {name: values[name] for name in _ARGUMENT_NAMES if name in values}
    return arguments or None


def _result(_: Values, span: Span) -> str | None:
    result = None
    for event in span.events:
        if event.name == "tool.output":
            output = {name: value for name, value in event.attributes.items() if name not in _ARGUMENT_NAMES}
            result = text_or_json(output["content"] if "content" in output else output.get("output", output))
    return result


def _error(values: Values, span: Span) -> ErrorInfo | None:
    if values.get("success") is not False:
        return None
    return ErrorInfo.model_construct(type="error", message=text(values.get("error")) or span.message)


DIALECT = Dialect(
    markers=("span.type",),
    sender_kind=_sender_kind,
    kinds={TURN: kinds.AGENT, "llm_request": kinds.LLM, "tool": kinds.TOOL},
    facts={
        EVERY: {"error": _error},
        kinds.AGENT: {"name": _agent, "agent": _agent},
        kinds.LLM: {
            "model": ("model", "gen_ai.request.model"),
            "provider": ("gen_ai.system", source.constant("anthropic")),
            "finish": "stop_reason",
            "ttft_us": "ttft_ms",
            "usage": source.tokens(
                input="input_tokens",
                output="output_tokens",
                cached="cache_read_tokens",
                written="cache_creation_tokens",
                apart=True,
            ),
            "advice": source.constant(ADVICE),
        },
        kinds.TOOL: {"tool": "tool_name", "call_id": "tool_use_id", "arguments": _arguments, "result": _result},
    },
    finish={kinds.AGENT: _read_interaction},
)
