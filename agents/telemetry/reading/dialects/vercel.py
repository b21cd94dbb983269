"""The AI SDK's older telemetry (``ai.operationId``, scope ``ai``); since version 7 it sends `genai`.

``ai.generateText`` holds ``ai.generateText.doGenerate``, the model's call itself; both carry tokens. Traps:
``ai.toolCall`` is a child of the model's call; results of tools are JSON inside text; the agent is
``ai.telemetry.functionId``; sessions come as ``ai.settings.context.*``, before version 7 as
``ai.telemetry.metadata.*``.
"""

from __future__ import annotations

from typing import Any

from agents.telemetry.reading import kinds
from agents.telemetry.reading.coerce import first_text, first_value, json_of, mapping, sequence, text
from agents.telemetry.reading.dialects import source
from agents.telemetry.reading.dialects.reader import EVERY, But, Dialect
from agents.telemetry.reading.dialects.source import Values
from agents.telemetry.reading.facts import HistoryMessage, RequestedCall
from agents.telemetry.reading.messages import read_input
from agents.telemetry.reading.spans import Span


def _kind(sender_kind: str, span: Span) -> str:
    if sender_kind == "ai.toolCall":
        return kinds.TOOL
    if sender_kind.startswith("ai.embed"):
        return kinds.EMBEDDING if sender_kind.endswith(".doEmbed") else kinds.CHAIN
    if ".do" in sender_kind:
        return kinds.LLM
    return kinds.AGENT if text(span.attributes.get("ai.telemetry.functionId")) else kinds.WORKFLOW


def _prompt_messages(value: Any) -> list[HistoryMessage]:
    """Read ``{"system": …, "messages": […]}`` or ``{"prompt": "…"}``."""
    prompt = mapping(value)
    system = prompt.get("system")
    messages = [HistoryMessage("system", [system])] if isinstance(system, str) and system else []
    return messages + read_input(prompt.get("messages") or prompt.get("prompt"))


def _output_messages(values: Values) -> list[HistoryMessage]:
    content = first_text(values, "ai.response.text", "ai.response.object")
    message = HistoryMessage(
        "assistant", [content] if content else [], reasoning=text(values.get("ai.response.reasoning"))
    )
    for call in sequence(values.get("ai.response.toolCalls")):
        if isinstance(call, dict):
            arguments = first_value(call, "input", "args")
            message.calls.append(RequestedCall(text(call.get("toolCallId")), text(call.get("toolName")), arguments))
    return [message]


DIALECT = Dialect(
    sender_kind="ai.operationId",
    kinds=_kind,
    facts={
        EVERY: {"agent": "ai.telemetry.functionId"},
        kinds.AGENT: {"name": "ai.telemetry.functionId"},
        kinds.TOOL: {
            "tool": "ai.toolCall.name",
            "call_id": "ai.toolCall.id",
            "arguments": "ai.toolCall.args",
            "result": "ai.toolCall.result",
        },
        But(kinds.TOOL): {
            "model": ("ai.response.model", "ai.model.id"),
            "provider": "ai.model.provider",
            "finish": "ai.response.finishReason",
            "ttft_us": ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk"),
            "usage": source.tokens(
                input=("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
                output=("ai.usage.outputTokens", "ai.usage.completionTokens"),
                cached="ai.usage.cachedInputTokens",
                reasoning="ai.usage.reasoningTokens",
            ),
            "input_messages": ("ai.prompt.messages", source.messages("ai.prompt", read=_prompt_messages)),
            "output_messages": source.gathered(
                ("ai.response.text", "ai.response.toolCalls", "ai.response.object"), _output_messages
            ),
            "tools": source.converted(lambda tools: [json_of(tool) for tool in sequence(tools)], "ai.prompt.tools"),
        },
    },
)
