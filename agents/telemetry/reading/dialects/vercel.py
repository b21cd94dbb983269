"""The AI SDK's older telemetry (``ai.operationId``, scope ``ai``); since version 7 it sends `genai`.

``ai.generateText`` holds ``ai.generateText.doGenerate``, the model's call itself; both carry tokens. Traps:
``ai.toolCall`` is a child of the model's call; results of tools are JSON inside text; the agent is
``ai.telemetry.functionId``; sessions come as ``ai.settings.context.*``, before version 7 as
``ai.telemetry.metadata.*``.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import (
    count,
    first_text,
    first_value,
    json_of,
    mapping,
    microseconds,
    sequence,
    text,
)
from agents.telemetry.reading.dialects.token_usage import token_usage
from agents.telemetry.reading.facts import HistoryMessage, LazyMessages, RequestedCall, SpanFacts
from agents.telemetry.reading.messages import read_input
from agents.telemetry.reading.spans import Span


def read(span: Span) -> SpanFacts | None:
    attributes = span.attributes
    sender_kind = text(attributes.get("ai.operationId"))
    if not sender_kind:
        return None
    facts = SpanFacts(
        kind=_kind(sender_kind), sender_kind=sender_kind, agent=text(attributes.get("ai.telemetry.functionId"))
    )
    if facts.kind == kinds.TOOL:
        facts.tool = text(attributes.get("ai.toolCall.name"))
        facts.call_id = text(attributes.get("ai.toolCall.id"))
        facts.arguments = attributes.get("ai.toolCall.args")
        facts.result = attributes.get("ai.toolCall.result")
        return facts
    if facts.kind == kinds.AGENT:
        facts.name = facts.agent
        facts.kind = kinds.AGENT if facts.name else kinds.WORKFLOW
    _fill_model(facts, attributes)
    _fill_messages(facts, attributes)
    return facts


def _kind(sender_kind: str) -> str:
    if sender_kind == "ai.toolCall":
        return kinds.TOOL
    if sender_kind.startswith("ai.embed"):
        return "embedding" if sender_kind.endswith(".doEmbed") else kinds.CHAIN
    return kinds.LLM if ".do" in sender_kind else kinds.AGENT


def _fill_model(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    facts.model = first_text(attributes, "ai.response.model", "ai.model.id")
    facts.provider = text(attributes.get("ai.model.provider"))
    facts.finish = text(attributes.get("ai.response.finishReason"))
    chunk = first_value(attributes, "ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
    facts.ttft_us = microseconds(chunk, 1e3)
    facts.usage = token_usage(
        count(first_value(attributes, "ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens")),
        count(first_value(attributes, "ai.usage.outputTokens", "ai.usage.completionTokens")),
        count(attributes.get("ai.usage.cachedInputTokens")),
        count(attributes.get("ai.usage.reasoningTokens")),
    )


def _fill_messages(facts: SpanFacts, attributes: dict[str, Any]) -> None:
    history = attributes.get("ai.prompt.messages")
    if history is not None:
        facts.input_messages = LazyMessages(history, read_input)
    elif "ai.prompt" in attributes:
        facts.input_messages = LazyMessages(attributes["ai.prompt"], _prompt_messages)
    if "ai.response.text" in attributes or "ai.response.toolCalls" in attributes or "ai.response.object" in attributes:
        facts.output_messages = LazyMessages(attributes, _output_messages)
    tools = attributes.get("ai.prompt.tools")
    if isinstance(tools, list):
        facts.tools = [json_of(tool) for tool in tools]


def _prompt_messages(value: Any) -> list[HistoryMessage]:
    """Read ``{"system": …, "messages": […]}`` or ``{"prompt": "…"}``."""
    prompt = mapping(value)
    system = prompt.get("system")
    messages = [HistoryMessage("system", [system])] if isinstance(system, str) and system else []
    return messages + read_input(prompt.get("messages") or prompt.get("prompt"))


def _output_messages(attributes: dict[str, Any]) -> list[HistoryMessage]:
    content = first_text(attributes, "ai.response.text", "ai.response.object")
    message = HistoryMessage(
        "assistant", [content] if content else [], reasoning=text(attributes.get("ai.response.reasoning"))
    )
    for call in sequence(attributes.get("ai.response.toolCalls")):
        if isinstance(call, dict):
            arguments = first_value(call, "input", "args")
            message.calls.append(RequestedCall(text(call.get("toolCallId")), text(call.get("toolName")), arguments))
    return [message]
