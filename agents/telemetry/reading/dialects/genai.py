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

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import count, json_of, sequence, text
from agents.telemetry.reading.dialects import genai_events, source
from agents.telemetry.reading.dialects.langchain import read_tool_message, tool_inputs, tool_output
from agents.telemetry.reading.dialects.openai_agents import reports_failures
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage
from agents.telemetry.reading.messages import read_input
from agents.telemetry.reading.sanitize import dicts
from agents.telemetry.reading.spans import Span

_OPERATIONS = {
    kinds.LLM: "chat generate_content text_completion completion",
    kinds.EMBEDDING: "embeddings embedding",
    kinds.RETRIEVER: "retrieval search_memory",
    kinds.TOOL: "execute_tool tools/call",
    kinds.AGENT: "invoke_agent",
    kinds.WORKFLOW: "invoke_workflow",
    kinds.CHAIN: "agent_step execute_task execute_event_loop_cycle chain",
    "memory": "create_memory update_memory upsert_memory delete_memory create_memory_store delete_memory_store",
}
_KINDS = {operation: kind for kind, operations in _OPERATIONS.items() for operation in operations.split()}

ADVICE = (
    "The sender did not capture the words. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only (with older "
    "packages: true) makes OpenTelemetry's instrumentations send them."
)


def _kind(operation: str, span: Span) -> str:
    return _KINDS.get(operation) or (kinds.kind_of(operation) if operation else _kind_from_names(span.attributes))


def _kind_from_names(attributes: Values) -> str:
    if "mcp.method.name" in attributes:
        return kinds.TOOL if attributes["mcp.method.name"] == "tools/call" else "mcp"
    if "gen_ai.tool.name" in attributes:
        return kinds.TOOL
    return kinds.LLM if "gen_ai.request.model" in attributes or "gen_ai.response.model" in attributes else ""


def _label(values: Values, _: Span) -> str:
    return "mcp" if values.get("gen_ai.tool.type") == "extension" or "mcp.session.id" in values else ""


def _first_reason(value: Any) -> str:
    reasons = json_of(value)
    return text(reasons[0] if isinstance(reasons, list) and reasons else reasons)


def _run_input(values: Values) -> list[HistoryMessage]:
    """Return the input of a run of Pydantic AI, whose messages include its answers. From ``new_message_index`` on
    they are its own, and those before are the earlier history."""
    messages = sequence(values["pydantic_ai.all_messages"])
    start = count(values.get("pydantic_ai.new_message_index"))
    answers = (
        index
        for index, message in enumerate(messages)
        if index >= start and isinstance(message, dict) and message.get("role") == "assistant"
    )
    return read_input(messages[: next(answers, len(messages))])


DIALECT = Dialect(
    markers=(
        "gen_ai.operation.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.tool.name",
        "gen_ai.agent.name",
        "mcp.method.name",
    ),
    sender_kind=lambda values, _: text(values.get("gen_ai.operation.name")),
    kinds=_kind,
    values=genai_events.with_details,
    facts={
        EVERY: {
            "agent": ("gen_ai.agent.name", "agent_name"),
            "provider": ("gen_ai.provider.name", "gen_ai.system"),
            "reports_failures": reports_failures,
        },
        kinds.AGENT: {"name": ("gen_ai.agent.name", "agent_name")},
        kinds.WORKFLOW: {"name": "gen_ai.workflow.name"},
        kinds.LLM: {"advice": source.constant(ADVICE), "answer_id": "gen_ai.response.id"},
        kinds.TOOL: {
            "tool": "gen_ai.tool.name",
            "call_id": ("gen_ai.tool.call.id", "gen_ai.tool.call_id"),
            "arguments": source.converted(tool_inputs, "gen_ai.tool.call.arguments", "gen_ai.tool.arguments"),
            "result": source.converted(tool_output, "gen_ai.tool.call.result"),
            "label": _label,
        },
        kinds.RETRIEVER: {
            "query": ("gen_ai.retrieval.query.text", "gen_ai.memory.query.text"),
            "vector_store": ("gen_ai.data_source.id", "gen_ai.memory.store.id"),
            "documents": source.converted(
                lambda value: dicts(json_of(value)), "gen_ai.retrieval.documents", "gen_ai.memory.records"
            ),
        },
        But(kinds.TOOL, kinds.RETRIEVER): {
            "model": ("gen_ai.response.model", "gen_ai.request.model"),
            "finish": source.converted(_first_reason, "gen_ai.response.finish_reasons"),
            "usage": source.tokens(
                input=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
                output=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
                cached=("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
                reasoning=(
                    "gen_ai.usage.reasoning.output_tokens",
                    "gen_ai.usage.details.reasoning_tokens",
                    "gen_ai.usage.reasoning_tokens",
                    "ai.usage.reasoningTokens",
                ),
                written=(
                    "gen_ai.usage.cache_write.input_tokens",
                    "gen_ai.usage.cache_creation.input_tokens",
                    "gen_ai.usage.cache_creation_input_tokens",
                    "gen_ai.usage.cache_write_input_tokens",
                ),
            ),
            "cost_nano": ("operation.cost", "gen_ai.usage.cost", "gen_ai.cost.total_cost"),
            "ttft_us": (source.seconds("gen_ai.response.time_to_first_chunk"), "gen_ai.server.time_to_first_token"),
            "input_messages": (
                "gen_ai.input.messages",
                "gen_ai.prompt",
                source.gathered("pydantic_ai.all_messages", _run_input),
            ),
            "output_messages": ("gen_ai.output.messages", "gen_ai.completion"),
            "output": "final_result",
            "instructions": "gen_ai.system_instructions",
            "tools": "gen_ai.tool.definitions",
        },
    },
    finish={EVERY: genai_events.add_events, kinds.TOOL: read_tool_message},
)
