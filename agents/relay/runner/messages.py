"""Answers requests of Anthropic's Messages API: a chat completion, or an agent's turn, in the words of that API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from agents.base import ids, sse
from agents.base.access import Actor
from agents.base.ids import Kind
from agents.base.schemas.wire import JSON
from agents.loop import model_names, toolset
from agents.loop.inference.base import InferenceRequest, TokenCounter
from agents.loop.provider_set import Providers
from agents.loop.token_estimate import estimated_tokens
from agents.loop.tool_groups import group_args
from agents.record.schemas.items import encode, system_item
from agents.record.store.agents import AgentRecord
from agents.relay.runner.agent_chat import AgentChat
from agents.relay.runner.call_log import CallLog
from agents.relay.runner.completions import ChatCall
from agents.relay.schemas.messages import CountMessageTokens, CreateMessage
from agents.relay.wire.message_events import MessageStream, Thinking
from agents.relay.wire.message_tools import MessageTools, message_tools
from agents.relay.wire.messages import inference_request, messages_of

_PREFIX = "msg"


class _Events(Protocol):
    """A chat completion on its way: a call of a model, or an agent's turn."""

    def events(self) -> AsyncGenerator[dict[str, JSON], None]: ...


@dataclass(frozen=True, slots=True)
class MessageCall:
    """A request for a message, and the chat completion that answers it."""

    chat: _Events
    stream: MessageStream

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as frames of a stream as they arrive. Raises AgentsError."""
        async with aclosing(self.chat.events()) as chunks:
            async for chunk in chunks:
                if frames := _frames(self.stream.add(chunk)):
                    yield frames
        yield _frames(self.stream.end())

    async def full_message(self) -> bytes:
        """Return the message as JSON. Raises AgentsError."""
        async with aclosing(self.chat.events()) as chunks:
            async for chunk in chunks:
                for _ in self.stream.add(chunk):
                    pass
        return msgspec.json.encode(self.stream.message())


def _frames(events: Iterable[Mapping[str, JSON]]) -> bytes:
    return b"".join(sse.named_frame(event["type"], msgspec.json.encode(event)) for event in events)


def model_call(providers: Providers, actor: Actor, body: CreateMessage) -> MessageCall:
    """Return the call of a model. Blocking. Raises InvalidRequest, NotFound."""
    inference, model = model_names.resolve(providers, actor, body.model)
    messages = messages_of(body)
    tools = message_tools(body.tools, body.tool_choice)
    request = inference_request(model, body, messages, tools)
    log = CallLog(actor, {"model": body.model, "messages": messages}, model, _log_fields(tools))
    head = {"id": ids.part(_PREFIX, Kind.COMPLETION, log.key)}
    return MessageCall(ChatCall(log, inference, request), _stream(body, head))


def _log_fields(tools: MessageTools) -> dict[str, JSON]:
    fields: dict[str, JSON] = {"api": "messages"}
    return {**fields, "left_out_tools": tools.left_out} if tools.left_out else fields


def agent_call(chat: AgentChat, body: CreateMessage) -> MessageCall:
    """Return a request that an agent's turn answers."""
    turn = chat.started.turn
    names = {
        "turn_id": ids.public(Kind.TURN, turn),
        "session_id": ids.public(Kind.SESSION, chat.started.session),
    }
    return MessageCall(chat, _stream(body, {"id": ids.part(_PREFIX, Kind.TURN, turn), **names}))


def _stream(body: CreateMessage, head: dict[str, JSON]) -> MessageStream:
    return MessageStream({**head, "model": body.model}, _thinking(body), body.stop_sequences)


def _thinking(body: CreateMessage) -> Thinking:
    """Tell whether a client sees thoughts: as with Anthropic's own models, only where it asks for them."""
    if body.thinking is None or body.thinking.type == "disabled":
        return "none"
    return "omitted" if body.thinking.display == "omitted" else "shown"


# ---------------------------------------------------------------------------------------------- count


@dataclass(frozen=True, slots=True)
class Context:
    """An inference that a message would begin with, and what may count its tokens."""

    request: InferenceRequest
    counter: TokenCounter | None


def context_of(providers: Providers, actor: Actor, body: CountMessageTokens, agent: AgentRecord | None) -> Context:
    """Return the inference that a message would begin with. Blocking. Raises InvalidRequest, NotFound."""
    inference, model = model_names.resolve(providers, actor, agent.config.model if agent else body.model)
    tools = message_tools(body.tools, body.tool_choice)
    messages = [encode(message) for message in messages_of(body)]
    request = InferenceRequest(model, messages, tools.definitions, tools.choice)
    if agent is not None:
        request = _with_agent(request, providers, actor, agent)
    return Context(request, inference if isinstance(inference, TokenCounter) else None)


def _with_agent(request: InferenceRequest, providers: Providers, actor: Actor, agent: AgentRecord) -> InferenceRequest:
    config = agent.config
    args = group_args(config.toolgroups, ())
    server_tools = toolset.server_tools(providers, actor, config.toolgroups, config.client_tools, args)
    return replace(
        request,
        messages=[system_item(config.instructions), *request.messages],
        tools=[*config.client_tools, *(tool.definition for tool in server_tools.values())],
    )


async def count(context: Context) -> tuple[int, bool]:
    """Return the number of tokens, and whether it is estimated: not every endpoint counts."""
    tokens = await context.counter.count_tokens(context.request) if context.counter is not None else None
    if tokens is not None:
        return tokens, False
    return estimated_tokens(context.request.messages, context.request.tools), True
