"""OpenTelemetry's GenAI conventions, all their generations (``gen_ai.*``).

``gen_ai.operation.name`` is the kind of a span. Names changed often: ``gen_ai.system`` became ``gen_ai.provider.name``,
``prompt_tokens`` became ``input_tokens``. Messages are in attributes as JSON text or as structured values, in an
event ``gen_ai.client.inference.operation.details`` with the same names, in one event a message (older, and
Strands), in ``gen_ai.prompt``/``gen_ai.completion`` as JSON, or there flattened (`traceloop`).
Traps: ``input_tokens`` includes cached ones, but not with everybody; ``finish_reasons`` may be JSON text; agents' spans
sum up their models' usage; the time to the first token is in seconds, with Strands in milliseconds.
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
    operation_name = text(operation)
    kind = OPERATIONS.get(operation_name) or (
        kinds.kind_of(operation_name) if operation_name else _kind_from_names(attributes)
    )
    facts = SpanFacts(kind=kind, sender_kind=operation_name, reports_failures="openai_agents" not in span.scope)
    source = genai_events.call_details(span) or attributes
    _fill_names(facts, attributes)
    if kind == kinds.TOOL:
        _fill_tool(facts, attributes)
    elif kind == kinds.RETRIEVER:
        _fill_retrieval(facts, attributes)
    else:
        _fill_model(facts, attributes)
        _fill_messages(facts, attributes, source)
    genai_events.add_events(span, facts)
    if kind == kinds.LLM:
        facts.advice = ADVICE
    return facts


def _is_bare(attributes: dict[str, Any]) -> bool:
    """Whether a span without an operation names a model or a tool."""
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


def _kind_from_names(attributes: dict[str, Any]) -> str:
    if "gen_ai.tool.name" in attributes:
        method = attributes.get("mcp.method.name")
        return kinds.TOOL if method in (None, "tools/call") else "mcp"
    if "mcp.method.name" in attributes:
        return kinds.TOOL if attributes["mcp.method.name"] == "tools/call" else "mcp"
    if "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes:
        return kinds.LLM
    return ""


def _fill_names(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    agent = text(attributes.get("gen_ai.agent.name")) or text(attributes.get("agent_name"))
    facts.agent = agent
    if facts.kind == kinds.AGENT:
        facts.name = agent
    elif facts.kind == kinds.WORKFLOW:
        facts.name = text(attributes.get("gen_ai.workflow.name"))
    facts.provider = first_text(attributes, "gen_ai.provider.name", "gen_ai.system")


def _fill_tool(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    """Read a tool's span. A result that is JSON of a text is that text (the AI SDK)."""
    facts.tool = first_text(attributes, "gen_ai.tool.name")
    facts.call_id = first_text(attributes, "gen_ai.tool.call.id", "gen_ai.tool.call_id")
    facts.arguments = first_value(attributes, "gen_ai.tool.call.arguments", "gen_ai.tool.arguments")
    facts.result = attributes.get("gen_ai.tool.call.result")
    if attributes.get("gen_ai.tool.type") == "extension" or "mcp.session.id" in attributes:
        facts.label = "mcp"


def _fill_retrieval(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.query = first_text(attributes, "gen_ai.retrieval.query.text", "gen_ai.memory.query.text")
    facts.vector_store = first_text(attributes, "gen_ai.data_source.id", "gen_ai.memory.store.id")
    documents = first_value(attributes, "gen_ai.retrieval.documents", "gen_ai.memory.records")
    if documents is not None:
        facts.documents = [document for document in sequence(documents) if isinstance(document, dict)]


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = first_text(attributes, "gen_ai.response.model", "gen_ai.request.model")
    reasons = json_of(attributes.get("gen_ai.response.finish_reasons"))
    facts.finish = text(reasons[0] if isinstance(reasons, list) and reasons else reasons)
    facts.usage = _usage(attributes)
    facts.cost_nano = nano_dollars(first_value(attributes, "operation.cost", "gen_ai.usage.cost"))
    chunk = attributes.get("gen_ai.response.time_to_first_chunk")
    if chunk is not None:
        facts.ttft_us = microseconds(chunk, 1e6)
    elif "gen_ai.server.time_to_first_token" in attributes:
        facts.ttft_us = microseconds(attributes["gen_ai.server.time_to_first_token"], 1e3)


def _usage(attributes: dict[str, Any]) -> Usage | None:
    input_tokens = first_value(attributes, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    output_tokens = first_value(attributes, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    if input_tokens is None and output_tokens is None:
        return None
    cached = first_value(attributes, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens")
    cache_written = first_value(
        attributes,
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
    )
    reasoning = first_value(
        attributes,
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "gen_ai.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
    )
    return token_usage(count(input_tokens), count(output_tokens), count(cached), count(reasoning), count(cache_written))


def _fill_messages(facts: SpanFacts, attributes: dict[str, Any], source: dict[str, Any]) -> None:
    """Read the messages. ``source`` has them: the span, or the event that describes it."""
    history = first_value(source, "gen_ai.input.messages") or first_value(
        attributes, "gen_ai.input.messages", "gen_ai.prompt"
    )
    answer = first_value(source, "gen_ai.output.messages") or first_value(
        attributes, "gen_ai.output.messages", "gen_ai.completion"
    )
    if history is not None:
        facts.input_messages = LazyMessages(history, read_input)
    if answer is not None:
        facts.output_messages = LazyMessages(answer, read_output)
    if facts.input_messages is NO_MESSAGES and "pydantic_ai.all_messages" in attributes:
        facts.input_messages = LazyMessages(attributes, _run_input)
    final = attributes.get("final_result")
    if final is not None:
        facts.output = final
    facts.instructions = first_value(source, "gen_ai.system_instructions") or attributes.get(
        "gen_ai.system_instructions"
    )
    facts.tools = first_value(source, "gen_ai.tool.definitions") or attributes.get("gen_ai.tool.definitions")


def _run_input(attributes: dict[str, Any]) -> list[HistoryMessage]:
    """Return the input of a run of Pydantic AI, whose messages include its answers. From ``new_message_index`` on
    they are its own, and those before are the earlier history."""
    messages = sequence(attributes["pydantic_ai.all_messages"])
    start = count(attributes.get("pydantic_ai.new_message_index"))
    answers = (
        index
        for index, message in enumerate(messages)
        if index >= start and isinstance(message, dict) and message.get("role") == "assistant"
    )
    return read_input(messages[: next(answers, len(messages))])
