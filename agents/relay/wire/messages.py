"""Anthropic's Messages API: a request to the inference protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base.errors import InvalidRequest
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import InferenceRequest
from agents.record.schemas.content import JsonSchemaFormat, SamplingParams, TopPStrategy
from agents.record.schemas.items import encode
from agents.relay.schemas.messages import CountMessageTokens, CreateMessage
from agents.relay.wire.message_texts import Message, chat_messages
from agents.relay.wire.message_tools import MessageTools

_HIGHEST = {"max": "xhigh"}
"""Efforts that chat completions know by another name."""


def messages_of(body: CountMessageTokens) -> list[Message]:
    """Return the messages of a request as those of chat completions."""
    return chat_messages(body.system, body.messages, body.model)


def inference_request(
    model: str, body: CreateMessage, messages: Sequence[Message], tools: MessageTools
) -> InferenceRequest:
    """Translate a request to the inference protocol."""
    return InferenceRequest(
        model=model,
        messages=[encode(message) for message in messages],
        tools=tools.definitions,
        tool_choice=tools.choice,
        sampling=SamplingParams(
            strategy=TopPStrategy(top_p=None), max_tokens=body.max_tokens, stop=body.stop_sequences or None
        ),
        response_format=JsonSchemaFormat(json_schema=body.answer_format.schema_) if body.answer_format else None,
        options=_options(body, has_tools=bool(tools.definitions)),
    )


def _options(body: CreateMessage, *, has_tools: bool) -> dict[str, Any]:
    """Return the fields that go to the endpoint unchanged."""
    effort = body.output_config.effort if body.output_config else None
    is_single = has_tools and body.tool_choice is not None and body.tool_choice.disable_parallel_tool_use
    options: dict[str, Any] = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "top_k": body.top_k or None,
        "reasoning_effort": _HIGHEST.get(effort, effort) if effort else None,
        "parallel_tool_calls": False if is_single else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def agent_request(body: CreateMessage, messages: Sequence[Message]) -> dict[str, JSON]:
    """Return a request to an agent, as one of chat completions. Raises InvalidRequest for what an agent has of its
    own."""
    for name, value in (("tools", body.tools), ("output_config.format", body.answer_format)):
        if value:
            raise InvalidRequest(f"{name}: an agent has its own; leave it out", param=name)
    fields: dict[str, JSON] = {"model": body.model, "messages": list(messages), "stream": True}
    return {**fields, "stream_options": {"include_usage": True}}
