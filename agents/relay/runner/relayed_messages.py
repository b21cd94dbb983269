"""Relays requests of Anthropic's Messages API to an endpoint that speaks it: as they came, and the answer as it comes.

Only the model's name and the id of the message are this server's.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from agents.base import ids, sse
from agents.base.access import Actor
from agents.base.api.negotiation import validated
from agents.base.errors import InvalidRequest, ProviderError
from agents.base.ids import Kind
from agents.base.schemas.wire import JSON
from agents.loop.inference.base import InferenceEndpoint, MessagesEndpoint
from agents.relay.runner.call_log import CallLog
from agents.relay.runner.completions import cut_error
from agents.relay.schemas.messages import CreateMessage
from agents.relay.wire.chat_completions import CompletionAssembly
from agents.relay.wire.message_chunks import MessageChunks
from agents.relay.wire.messages import messages_of

MESSAGES_PATH, COUNT_PATH = "/messages", "/messages/count_tokens"
VERSION, BETA = "anthropic-version", "anthropic-beta"
DEFAULT_VERSION = "2023-06-01"
_NAME = re.compile(r"[a-z_]{1,64}")
_NOT_THERE = (404, 405, 501)


@dataclass(frozen=True, slots=True)
class MessagesRoute:
    """An endpoint that speaks the Messages API, by what it calls the model, and the headers of a request to it."""

    endpoint: MessagesEndpoint
    model: str
    headers: Mapping[str, str]

    def body(self, fields: Mapping[str, JSON]) -> bytes:
        return msgspec.json.encode({**fields, "model": self.model})


def route(inference: InferenceEndpoint, model: str, headers: Mapping[str, str]) -> MessagesRoute | None:
    """Return how a request with these headers gets to an endpoint as it is; None where that does not speak the API."""
    if not isinstance(inference, MessagesEndpoint) or inference.messages_headers is None:
        return None
    sent = {VERSION: headers.get(VERSION) or DEFAULT_VERSION, BETA: headers.get(BETA) or ""}
    return MessagesRoute(inference, model, {**sent, **inference.messages_headers})


@dataclass(frozen=True, slots=True)
class MessageRelay:
    """A request as received, and where it is logged."""

    log: CallLog
    route: MessagesRoute
    fields: Mapping[str, JSON]

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as frames of a stream as they arrive. Raises AgentsError; the call is logged in any case."""
        await self.log.check_budgets()
        chunks, assembly, endpoint = MessageChunks(), CompletionAssembly(), self.route.endpoint
        body = self.route.body(self.fields)
        async with (
            self.log.written(endpoint.name, assembly.completion) as measured,
            aclosing(
                endpoint.payloads(MESSAGES_PATH, body, model=self.route.model, headers=self.route.headers)
            ) as payloads,
        ):
            async for payload in payloads:
                measured.first_token()
                kind, event = _event(payload, endpoint.name)
                for chunk in chunks.of_event(event):
                    assembly.add(chunk)
                yield sse.named_frame(kind, self._named(kind, event, payload))
                if kind == "message_stop":
                    return
            raise cut_error(endpoint.name)

    async def full_message(self) -> bytes:
        """Return the message as JSON. Raises AgentsError; the call is logged in any case."""
        await self.log.check_budgets()
        assembly, endpoint = CompletionAssembly(), self.route.endpoint
        async with self.log.written(endpoint.name, assembly.completion):
            body, headers = self.route.body(self.fields), self.route.headers
            answer = await endpoint.document(MESSAGES_PATH, body, model=self.route.model, headers=headers)
            kind, message = _event(answer, endpoint.name)
            if kind != "message":
                raise ProviderError(f"{endpoint.name} answered without a message", provider=endpoint.name)
            for chunk in MessageChunks().of_message(message):
                assembly.add(chunk)
        return msgspec.json.encode(self._with_names(message))

    def _named(self, kind: str, event: Mapping[str, JSON], payload: bytes) -> bytes:
        message = event.get("message")
        if kind != "message_start" or not isinstance(message, dict):
            return payload
        return msgspec.json.encode({**event, "message": self._with_names(message)})

    def _with_names(self, message: Mapping[str, JSON]) -> dict[str, JSON]:
        return {**message, "id": ids.part("msg", Kind.COMPLETION, self.log.key), "model": self.log.body["model"]}


def _event(payload: bytes, endpoint: str) -> tuple[str, dict[str, JSON]]:
    """Decode an event, or a message, with its type. Raises ProviderError."""
    try:
        event = msgspec.json.decode(payload)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"{endpoint} sent what cannot be read: {error}", provider=endpoint) from None
    kind = event.get("type") if isinstance(event, dict) else None
    if not isinstance(kind, str) or not _NAME.fullmatch(kind):
        raise ProviderError(f"{endpoint} sent an event without a type", provider=endpoint)
    return kind, event


def call(actor: Actor, route: MessagesRoute, fields: Mapping[str, JSON]) -> MessageRelay:
    """Return the call for a request as received."""
    logged = {"model": fields["model"], "messages": _logged_messages(fields)}
    return MessageRelay(CallLog(actor, logged, route.model, {"api": "messages", "relayed": True}), route, fields)


def _logged_messages(fields: Mapping[str, JSON]) -> JSON:
    """Return the messages in the words of chat completions; as they came where this server cannot read them."""
    try:
        return messages_of(validated(fields, CreateMessage))
    except InvalidRequest:
        system = fields.get("system")
        messages = fields.get("messages")
        first = [{"role": "system", "content": system}] if system else []
        return [*first, *(messages if isinstance(messages, list) else ())]


async def count(route: MessagesRoute, fields: Mapping[str, JSON]) -> int | None:
    """Return the tokens of a request as its endpoint counts them; None where it does not count. Raises
    ProviderError."""
    try:
        answer = await route.endpoint.document(COUNT_PATH, route.body(fields), model=route.model, headers=route.headers)
    except ProviderError as error:
        if error.upstream_status in _NOT_THERE:
            return None
        raise
    try:
        return msgspec.json.decode(answer, type=_Count).input_tokens
    except (ValueError, RecursionError):
        return None


class _Count(msgspec.Struct):
    input_tokens: int
