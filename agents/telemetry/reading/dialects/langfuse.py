"""Langfuse's SDK from version 3 on (``langfuse.observation.*``).

``langfuse.observation.type`` is the kind of a span; ``.input`` and ``.output`` are JSON text. A function that is
observed has ``{"args": […], "kwargs": {…}}`` as its input. Traps: its trace's name, tags and metadata are repeated on
every span; every value is JSON inside text, also a text.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.events import ErrorInfo
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import json_of, mapping, nano_dollars, text
from agents.telemetry.reading.dialects.token_usage import usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

_PREFIX = "langfuse.observation."


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get(_PREFIX + "type"))
    if not sender_kind:
        return None
    facts = SpanFacts(kind=_kind(sender_kind), sender_kind=sender_kind)
    facts.input, facts.output = attributes.get(_PREFIX + "input"), attributes.get(_PREFIX + "output")
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent = span.name
    if facts.kind in (kinds.LLM, "embedding"):
        _fill_model(facts, attributes)
    elif facts.kind == kinds.TOOL:
        facts.tool = span.name
        facts.arguments, facts.result = arguments_of(facts.input), facts.output
    elif facts.kind == kinds.RETRIEVER:
        facts.query = query_of(facts.input)
        facts.documents = documents_of(facts.output)
    if attributes.get(_PREFIX + "level") == "ERROR":
        message = text(attributes.get(_PREFIX + "status_message")) or span.message
        facts.error = ErrorInfo.model_construct(type="error", message=message)
    return facts


def _kind(sender_kind: str) -> str:
    """Return our kind. A plain ``span`` is only worth a step where it lies between others, as a chain does."""
    return kinds.CHAIN if sender_kind == "span" else kinds.kind_of(sender_kind)


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = text(attributes.get(_PREFIX + "model.name"))
    facts.usage = usage_of(mapping(attributes.get(_PREFIX + "usage_details")))
    cost = mapping(attributes.get(_PREFIX + "cost_details"))
    facts.cost_nano = nano_dollars(cost.get("total")) if "total" in cost else _sum(cost)
    if facts.input is not None:
        facts.input_messages = LazyMessages(facts.input, read_input)
    if facts.output is not None:
        facts.output_messages = LazyMessages(facts.output, read_output)
    if isinstance(facts.input, str) and '"tools"' in facts.input:
        facts.tools = mapping(facts.input).get("tools")


def _sum(cost: dict[str, Any]) -> int | None:
    parts = [amount for amount in map(nano_dollars, cost.values()) if amount is not None]
    return sum(parts) if parts else None


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
