"""Pydantic AI and Logfire, where they go beyond OpenTelemetry's conventions (scopes ``pydantic-ai``, ``logfire*``).

``logfire.instrument_openai()`` puts a model's call into ``request_data``/``response_data`` (JSON); the span's name is a
template then, and ``logfire.msg`` the text. Traps: a pending span (``logfire.span_type``) repeats one that comes
later; a run makes up a ``conversation.id`` of its own, also one inside a tool; the usage of a run is
``gen_ai.aggregated_usage.*``, never to be added.
"""

from __future__ import annotations

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import mapping, text
from agents.telemetry.reading.dialects.token_usage import usage_of
from agents.telemetry.reading.facts import LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    if "request_data" not in attributes:
        return None
    request, response = mapping(attributes["request_data"]), mapping(attributes.get("response_data"))
    if "model" not in request:
        return None
    facts = SpanFacts(kind=kinds.LLM, sender_kind="request", model=text(request["model"]))
    history = [request.get(name) for name in ("messages", "input") if request.get(name)]
    if history:
        facts.input_messages = LazyMessages(history, read_input)
    answer = response.get("message") or response.get("output")
    if answer is not None:
        facts.output_messages = LazyMessages(answer, read_output)
    facts.usage = usage_of(response.get("usage"))
    facts.instructions = request.get("instructions")
    facts.tools = request.get("tools")
    return facts


def is_pending(span: Span) -> bool:
    return span.attributes.get("logfire.span_type") == "pending_span"
