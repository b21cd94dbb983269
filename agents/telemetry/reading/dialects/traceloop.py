"""OpenLLMetry / Traceloop (scopes ``opentelemetry.instrumentation.*``, ``traceloop.tracer``).

``traceloop.span.kind`` is the kind of a span, with ``traceloop.entity.*`` beside it; models' calls have ``gen_ai.*``
and no such kind (`genai`), in older versions flattened messages ``gen_ai.prompt.N.role/content/tool_calls.K.*`` and
``gen_ai.completion.N.*``, and ``llm.request.type``. Traps: with two instrumentations on (its default) every model's
call is two spans inside each other, with the same tokens; the id of a call is the item's (``fc_…``), not the one that
its answer names (``call_…``); LangChain's arguments come as ``{"input_str": "{'city': 'Paris'}"}``, a Python repr,
those of a decorated function as Langfuse's do.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text, json_of, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.langchain import read_tool_message, tool_inputs
from agents.telemetry.reading.dialects.langfuse import arguments_of
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage
from agents.telemetry.reading.messages import messages_of
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.unflatten import unflatten

_INPUT, _OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
_PROMPT, _COMPLETION = "gen_ai.prompt.", "gen_ai.completion."
_REQUESTS = {"embedding": kinds.EMBEDDING, "rerank": "reranker"}


def _kind(sender_kind: str, span: Span) -> str:
    """Return our kind: by the type of the request where it is a model's span, which has no kind."""
    if text(span.attributes.get("traceloop.span.kind")):
        return kinds.kind_of(sender_kind)
    return _REQUESTS.get(sender_kind, kinds.LLM)


def _result(value: Any) -> Any:
    output = json_of(value)
    return output.get("output", value) if isinstance(output, dict) else value


def _messages(values: Values, prefix: str, role: str) -> list[HistoryMessage]:
    return [message for row in unflatten(values, prefix) for message in messages_of(_chat_message(row, role))]


def _chat_message(value: dict[str, Any], role: str) -> dict[str, Any]:
    """Convert a message to Chat Completions' shape, which differs in contents of several parts: these are JSON inside
    text."""
    content = value.get("content")
    if isinstance(content, str) and content.startswith('[{"type"'):
        content = json_of(content)
    return {**value, "role": value.get("role", role), "content": content}


DIALECT = Dialect(
    markers=("traceloop.span.kind", "llm.request.type", "gen_ai.prompt.0.role", "gen_ai.completion.0.content"),
    sender_kind=lambda values, _: first_text(values, "traceloop.span.kind", "llm.request.type"),
    kinds=_kind,
    facts={
        EVERY: {
            "input_messages": source.gathered(_PROMPT, lambda values: _messages(values, _PROMPT, "user")),
            "output_messages": source.gathered(_COMPLETION, lambda values: _messages(values, _COMPLETION, "assistant")),
        },
        (kinds.AGENT, kinds.WORKFLOW): {"name": ("traceloop.entity.name", "traceloop.workflow.name")},
        kinds.AGENT: {"agent": ("traceloop.entity.name", "traceloop.workflow.name")},
        kinds.LLM: {
            "model": ("gen_ai.response.model", "gen_ai.request.model"),
            "finish": "gen_ai.completion.0.finish_reason",
        },
        kinds.TOOL: {
            "tool": "traceloop.entity.name",
            "arguments": source.converted(lambda value: tool_inputs(arguments_of(value)), _INPUT),
            "result": source.converted(_result, _OUTPUT),
        },
        But(kinds.TOOL): {"input": _INPUT, "output": _OUTPUT},
    },
    finish={kinds.TOOL: read_tool_message},
)
