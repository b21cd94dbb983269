"""Langfuse's SDK from version 3 on (``langfuse.observation.*``).

``langfuse.observation.type`` is the kind of a span; ``.input`` and ``.output`` are JSON text. A function that is
observed has ``{"args": […], "kwargs": {…}}`` as its input. Traps: its trace's name, tags and metadata are repeated on
every span; every value is JSON inside text, also a text.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, json_of, mapping, nano_dollars, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.spans import Span

_INPUT, _OUTPUT = "langfuse.observation.input", "langfuse.observation.output"
_USAGE = "langfuse.observation.usage_details"


def _kind(sender_kind: str, _: Span) -> str:
    """Return our kind. A plain ``span`` is only worth a step where it lies between others, as a chain does."""
    return kinds.CHAIN if sender_kind == "span" else kinds.kind_of(sender_kind)


def _cost(values: dict[str, Any]) -> int | None:
    """Return the total, or the sum of what was named."""
    if "total" in values:
        return nano_dollars(values["total"])
    parts = [amount for amount in map(nano_dollars, values.values()) if amount is not None]
    return sum(parts) if parts else None


_of_any_model = source.usage(_USAGE)


def _usage(values: Values, span: Span) -> Any:
    """Read tokens. In Langfuse's own names each kind of token has a part to itself: ``input`` lacks those of
    ``input_cache_read``, unless ``total`` shows otherwise. Under other names it is what a model's endpoint said."""
    parts = mapping(values.get(_USAGE))
    if not parts.keys() & {"input", "output"}:
        return _of_any_model(values, span)
    total = count(parts.get("total"))
    sums = {side: _sum(parts, side) for side in ("input", "output")}
    if total and total == count(parts.get("input")) + count(parts.get("output")):
        sums = {side: count(parts.get(side)) for side in sums}
    cached, reasoning = _sum(parts, "input", "cache"), _sum(parts, "output", "reasoning")
    written = _sum(parts, "input", "cache_creation")
    return token_usage(sums["input"], sums["output"], cached - written, reasoning)


def _sum(parts: Values, side: str, kind: str = "") -> int:
    """Return the tokens of one side: all of them, or of a kind."""
    return sum(count(value) for name, value in parts.items() if name.startswith(side) and kind in name)


def _tools(value: Any) -> Any:
    return mapping(value).get("tools") if isinstance(value, str) and '"tools"' in value else None


def _error(values: Values, span: Span) -> ErrorInfo | None:
    if values.get("langfuse.observation.level") != "ERROR":
        return None
    message = text(values.get("langfuse.observation.status_message")) or span.message
    return ErrorInfo.model_construct(type="error", message=message)


def arguments_of(value: Any) -> Any:
    """Return the arguments of a function call; by name, where they were."""
    parsed = json_of(value)
    if isinstance(parsed, dict) and parsed.keys() == {"args", "kwargs"}:
        if not parsed["args"]:
            return parsed["kwargs"]
        if not parsed["kwargs"] and isinstance(parsed["args"], list) and len(parsed["args"]) == 1:
            return parsed["args"][0]
    return parsed


def query_of(value: Any) -> str:
    """Return the query of a retrieval: a text, or the first one in an object."""
    parsed = arguments_of(value)
    if isinstance(parsed, dict):
        parsed = next(
            (parsed[name] for name in ("query", "question", "input", "text") if isinstance(parsed.get(name), str)), ""
        )
    return text(parsed)


def documents_of(value: Any) -> list[dict[str, Any]] | None:
    """Return the results of a retrieval, one object a document."""
    parsed = json_of(value)
    if isinstance(parsed, dict):
        parsed = next((parsed[name] for name in ("documents", "docs", "results", "chunks") if name in parsed), None)
    if not isinstance(parsed, list):
        return None
    return [document if isinstance(document, dict) else {"content": document} for document in parsed]


DIALECT = Dialect(
    sender_kind="langfuse.observation.type",
    kinds=_kind,
    facts={
        EVERY: {"input": _INPUT, "output": _OUTPUT, "error": _error},
        kinds.AGENT: {"name": source.span_name, "agent": source.span_name},
        (kinds.LLM, kinds.EMBEDDING): {
            "model": "langfuse.observation.model.name",
            "usage": _usage,
            "cost_nano": source.converted(lambda value: _cost(mapping(value)), "langfuse.observation.cost_details"),
            "input_messages": _INPUT,
            "output_messages": _OUTPUT,
            "tools": source.converted(_tools, _INPUT),
        },
        kinds.TOOL: {"tool": source.span_name, "arguments": source.converted(arguments_of, _INPUT), "result": _OUTPUT},
        kinds.RETRIEVER: {
            "query": source.converted(query_of, _INPUT),
            "documents": source.converted(documents_of, _OUTPUT),
        },
    },
)
