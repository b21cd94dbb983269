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
from agents.telemetry.reading.coerce import count, first_text, json_of, microseconds, text, text_or_json
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.spans import Span

SCOPE = "com.anthropic.claude_code.tracing"
REDACTED = "<REDACTED>"
_KINDS = {"interaction": kinds.AGENT, "llm_request": kinds.LLM, "tool": kinds.TOOL}
ADVICE = (
    "Claude Code's spans carry no answers of its models. Its session file has them; with OTEL_LOG_USER_PROMPTS=1, "
    "OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1 its records have prompts and tools."
)


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    span_type = attributes.get("span.type")
    if not isinstance(span_type, str) or (span.scope != SCOPE and not span.name.startswith("claude_code.")):
        return None
    facts = SpanFacts(kind=_KINDS.get(span_type, ""), sender_kind=span_type)
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent = text(span.resource.get("service.name")) or "claude-code"
        _fill_interaction(facts, span)
    elif facts.kind == kinds.LLM:
        _fill_model(facts, attributes)
    elif facts.kind == kinds.TOOL:
        _fill_tool(facts, span)
    if attributes.get("success") is False:
        facts.error = ErrorInfo.model_construct(type="error", message=text(attributes.get("error")) or span.message)
    return facts


def _fill_interaction(facts: SpanFacts, span: Span) -> None:
    prompt = text(span.attributes.get("user_prompt"))
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


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = first_text(attributes, "model", "gen_ai.request.model")
    facts.provider = text(attributes.get("gen_ai.system")) or "anthropic"
    facts.finish = text(attributes.get("stop_reason"))
    facts.ttft_us = microseconds(attributes.get("ttft_ms"), 1e3)
    cached, written = count(attributes.get("cache_read_tokens")), count(attributes.get("cache_creation_tokens"))
    input_tokens = count(attributes.get("input_tokens")) + cached + written
    facts.usage = token_usage(input_tokens, count(attributes.get("output_tokens")), cached)
    facts.advice = ADVICE


def _fill_tool(facts: SpanFacts, span: Span) -> None:
    """Read a tool's span. Its arguments are attributes of their own: ``file_path``, ``full_command`` and the like."""
    attributes = span.attributes
    facts.tool = text(attributes.get("tool_name"))
    facts.call_id = text(attributes.get("tool_use_id"))
    arguments = json_of(attributes.get("tool_input"))
    if not isinstance(arguments, dict):
        arguments = {name: attributes[name] for name in _ARGUMENT_NAMES if name in attributes}
    facts.arguments = arguments or None
    for event in span.events:
        if event.name == "tool.output":
            output = {name: value for name, value in event.attributes.items() if name not in _ARGUMENT_NAMES}
            facts.result = text_or_json(output["content"] if "content" in output else output.get("output", output))


_ARGUMENT_NAMES = (
    "file_path",
    "full_command",
    "command",
    "pattern",
    "path",
    "url",
    "query",
    "description",
    "subagent_type",
    "prompt",
)
