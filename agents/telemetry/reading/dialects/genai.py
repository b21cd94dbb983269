"""OpenTelemetry's GenAI conventions, all their generations (``gen_ai.*``).

``gen_ai.operation.name`` says what a span is. Names changed often: ``gen_ai.system`` became ``gen_ai.provider.name``,
``prompt_tokens`` became ``input_tokens``. Messages stand in attributes as JSON text or as structured values, in an
event ``gen_ai.client.inference.operation.details`` with the same names, in one event a message (older, and
Strands), in ``gen_ai.prompt``/``gen_ai.completion`` as JSON, or there flattened (`traceloop`).
Traps: ``input_tokens`` includes cached ones, but not with everybody; ``finish_reasons`` may be JSON text; agents' spans
sum up what their models' spans say; the time to the first token is in seconds, with Strands in milliseconds.
"""

from __future__ import annotations

from typing import Any

from agents.record.schemas.content import Usage
from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import (
    count,
    first_text,
    first_value,
    json_of,
    microseconds,
    nano_dollars,
    sequence,
    text,
)
from agents.telemetry.reading.dialects import genai_events
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import NO_MESSAGES, HistoryMessage, LazyMessages, SpanFacts
from agents.telemetry.reading.messages import read_input, read_output
from agents.telemetry.reading.spans import Span

OPERATIONS = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion"), kinds.LLM),
    **dict.fromkeys(("embeddings", "embedding"), "embedding"),
    **dict.fromkeys(("retrieval", "search_memory"), kinds.RETRIEVER),
    **dict.fromkeys(("execute_tool", "tools/call"), kinds.TOOL),
    "invoke_agent": kinds.AGENT,
    "invoke_workflow": kinds.WORKFLOW,
    **dict.fromkeys(("agent_step", "execute_task", "execute_event_loop_cycle", "chain"), kinds.CHAIN),
    **dict.fromkeys(
        (
            "create_memory",
            "update_memory",
            "upsert_memory",
            "delete_memory",
            "create_memory_store",
            "delete_memory_store",
        ),
        "memory",
    ),
}

ADVICE = (
    "The sender did not capture the words. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only (with older "
    "packages: true) makes OpenTelemetry's instrumentations send them."
)


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    if operation is None and not _is_bare(attributes):
        return None
    word = text(operation)
    kind = OPERATIONS.get(word) or (kinds.kind_of(word) if word else _guess(attributes))
    facts = SpanFacts(kind=kind, sender_kind=word, reports_failures="openai_agents" not in span.scope)
    source = genai_events.call_details(span) or attributes
    _who(facts, attributes)
    if kind == kinds.TOOL:
        _tool(facts, attributes)
    elif kind == kinds.RETRIEVER:
        _retrieval(facts, attributes)
    else:
        _model(facts, attributes)
        _words(facts, attributes, source)
    genai_events.add_events(span, facts)
    if kind == kinds.LLM:
        facts.advice = ADVICE
    return facts


def _is_bare(attributes: dict[str, Any]) -> bool:
    """Spans that say no operation: a model or a tool is named."""
    return any(
        name in attributes
        for name in (
            "gen_ai.request.model",
            "gen_ai.response.model",
            "gen_ai.tool.name",
            "gen_ai.agent.name",
            "mcp.method.name",
        )
    )


def _guess(attributes: dict[str, Any]) -> str:
    if "gen_ai.tool.name" in attributes:
        method = attributes.get("mcp.method.name")
        return kinds.TOOL if method in (None, "tools/call") else "mcp"
    if "mcp.method.name" in attributes:
        return kinds.TOOL if attributes["mcp.method.name"] == "tools/call" else "mcp"
    if "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes:
        return kinds.LLM
    return ""


def _who(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    agent = text(attributes.get("gen_ai.agent.name")) or text(attributes.get("agent_name"))
    facts.agent = agent
    if facts.kind == kinds.AGENT:
        facts.name = agent
    elif facts.kind == kinds.WORKFLOW:
        facts.name = text(attributes.get("gen_ai.workflow.name"))
    facts.provider = first_text(attributes, "gen_ai.provider.name", "gen_ai.system")


def _tool(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    """A result that is JSON of a text is that text (the AI SDK)."""
    facts.tool = first_text(attributes, "gen_ai.tool.name")
    facts.call_id = first_text(attributes, "gen_ai.tool.call.id", "gen_ai.tool.call_id")
    facts.arguments = first_value(attributes, "gen_ai.tool.call.arguments", "gen_ai.tool.arguments")
    facts.result = attributes.get("gen_ai.tool.call.result")
    if attributes.get("gen_ai.tool.type") == "extension" or "mcp.session.id" in attributes:
        facts.label = "mcp"


def _retrieval(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.query = first_text(attributes, "gen_ai.retrieval.query.text", "gen_ai.memory.query.text")
    facts.vector_store = first_text(attributes, "gen_ai.data_source.id", "gen_ai.memory.store.id")
    found = first_value(attributes, "gen_ai.retrieval.documents", "gen_ai.memory.records")
    if found is not None:
        facts.documents = [one for one in sequence(found) if isinstance(one, dict)]


def _model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = first_text(attributes, "gen_ai.response.model", "gen_ai.request.model")
    why = json_of(attributes.get("gen_ai.response.finish_reasons"))
    facts.finish = text(why[0] if isinstance(why, list) and why else why)
    facts.usage = _usage(attributes)
    facts.cost_nano = nano_dollars(first_value(attributes, "operation.cost", "gen_ai.usage.cost"))
    chunk = attributes.get("gen_ai.response.time_to_first_chunk")
    if chunk is not None:
        facts.ttft_us = microseconds(chunk, 1e6)
    elif "gen_ai.server.time_to_first_token" in attributes:
        facts.ttft_us = microseconds(attributes["gen_ai.server.time_to_first_token"], 1e3)


def _usage(attributes: dict[str, Any]) -> Usage | None:
    given = first_value(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    got = first_value(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    if given is None and got is None:
        return None
    cached = first_value(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    written = first_value(
        attributes,
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
    )
    thought = first_value(
        attributes,
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "gen_ai.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
    )
    return token_usage(count(given), count(got), count(cached), count(thought), count(written))


def _words(facts: SpanFacts, attributes: dict[str, Any], source: dict[str, Any]) -> None:
    """``source`` has the messages: the span, or the event that tells of it."""
    given = first_value(source, "gen_ai.input.messages") or first_value(
        attributes, "gen_ai.input.messages", "gen_ai.prompt"
    )
    got = first_value(source, "gen_ai.output.messages") or first_value(
        attributes, "gen_ai.output.messages", "gen_ai.completion"
    )
    if given is not None:
        facts.input_messages = LazyMessages(given, read_input)
    if got is not None:
        facts.output_messages = LazyMessages(got, read_output)
    if facts.input_messages is NO_MESSAGES and "pydantic_ai.all_messages" in attributes:
        facts.input_messages = LazyMessages(attributes, _asked_of_run)
    final = attributes.get("final_result")
    if final is not None:
        facts.output = final
    facts.instructions = first_value(source, "gen_ai.system_instructions") or attributes.get(
        "gen_ai.system_instructions"
    )
    facts.tools = first_value(source, "gen_ai.tool.definitions") or attributes.get("gen_ai.tool.definitions")


def _asked_of_run(attributes: dict[str, Any]) -> list[HistoryMessage]:
    """What a run of Pydantic AI began with: all its messages hold its answers, too. From ``new_message_index`` on
    they are its own, and those before are what was said earlier."""
    told = sequence(attributes["pydantic_ai.all_messages"])
    start = count(attributes.get("pydantic_ai.new_message_index"))
    answers = (
        at for at, one in enumerate(told) if at >= start and isinstance(one, dict) and one.get("role") == "assistant"
    )
    return read_input(told[: next(answers, len(told))])
