"""Anthropic's Messages API: a message of a model or of an agent, and the tokens of a request for one."""

from __future__ import annotations

from functools import partial

import msgspec
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base import sse
from agents.base.api.negotiation import json_response, validated
from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer
from agents.base.errors import InvalidRequest
from agents.base.reading import read
from agents.loop import agent_names, model_names
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.sent_request import SentRequest
from agents.record.store import retries
from agents.record.store.agents import AgentRecord
from agents.relay.api.event_streams import event_stream
from agents.relay.runner import agent_chat, messages, relayed_messages
from agents.relay.runner.messages import Context, MessageCall
from agents.relay.runner.relayed_messages import MessageRelay, MessagesRoute
from agents.relay.schemas.agent_chat import AgentChatRequest
from agents.relay.schemas.messages import (
    CountMessageTokens,
    CreateMessage,
    MessageModel,
    MessageObject,
    MessageStreamEvent,
    MessageTokenCount,
)
from agents.relay.wire.messages import agent_request, messages_of
from agents.responses.api.contexts import ESTIMATED

PING = sse.named_frame("ping", b'{"type":"ping"}')


class MessageCreate(ApiView):
    """A message of a model, relayed to an endpoint that speaks this API, else translated for it, and logged with the
    chat completions; or a turn of the agent that ``model`` names. The key may be in ``x-api-key``, and errors have
    Anthropic's form."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="create_message",
        request=CreateMessage,
        responses={200: MessageObject, (200, "text/event-stream"): MessageStreamEvent},
    )
    def post(self, request: Request) -> HttpResponseBase:
        head: MessageModel = self.body(MessageModel)
        call = self._call(head.model)

        async def stream() -> HttpResponseBase:
            return await event_stream(call.frames(), request._request, frame=bytes, keep_alive=PING)

        async def complete() -> HttpResponseBase:
            with errors_for_caller():
                return json_response(await call.full_message())

        return Awaited(stream if head.stream else complete)

    def _call(self, name: str) -> MessageCall | MessageRelay:
        providers = service().providers
        agent = agent_names.of_model(providers, self.actor, name)
        if agent is None:
            inference, model = model_names.resolve(providers, self.actor, name)
            route = relayed_messages.route(inference, model, self.request._request.headers)
            if route is not None:
                return relayed_messages.call(self.actor, route, msgspec.json.decode(self.raw))
        body: CreateMessage = self.body(CreateMessage)
        _refuse_thread(body)
        return messages.model_call(providers, self.actor, body) if agent is None else self._agent_call(agent, body)

    def _agent_call(self, agent: AgentRecord, body: CreateMessage) -> MessageCall:
        chat_body = validated(agent_request(body, messages_of(body)), AgentChatRequest)
        request = self.request._request
        key, times = request.headers.get("Idempotency-Key"), request.headers.get("X-Stainless-Retry-Count")
        retry = retries.read(self.actor, request.path, self.raw, key, times)
        sent = SentRequest(self.raw, retry, provider_data(request))
        return messages.agent_call(agent_chat.begin(self.actor, agent, chat_body, sent), body)


def _refuse_thread(body: CreateMessage) -> None:
    """Raise InvalidRequest where a client would have the server keep its conversation. The error's code tells it to
    send all of it each time."""
    if body.thread is not None:
        message = "thread: no conversations are kept here; send all of it without this field."
        detail = {"error_code": "thread_unsupported_request", "unsupported": []}
        raise InvalidRequest(message, param="thread", detail=detail)


class MessageTokens(ApiView):
    """The tokens of a request for a message. They are counted by the model's endpoint where that counts; a header says
    where they are estimated."""

    actions = {"post": "run"}

    @extend_schema(operation_id="count_message_tokens", request=CountMessageTokens, responses=MessageTokenCount)
    def post(self, request: Request) -> HttpResponseBase:
        head: MessageModel = self.body(MessageModel)
        providers = service().providers
        agent = agent_names.of_model(providers, self.actor, head.model)
        route = None
        if agent is None:
            inference, model = model_names.resolve(providers, self.actor, head.model)
            route = relayed_messages.route(inference, model, self.request._request.headers)
        if route is None:
            return Awaited(partial(_counted, self._context(agent)))
        return Awaited(partial(self._counted_by, route))

    def _context(self, agent: AgentRecord | None) -> Context:
        body: CountMessageTokens = self.body(CountMessageTokens)
        return messages.context_of(service().providers, self.actor, body, agent)

    async def _counted_by(self, route: MessagesRoute) -> HttpResponseBase:
        with errors_for_caller():
            tokens = await relayed_messages.count(route, msgspec.json.decode(self.raw))
        if tokens is None:
            return await _counted(await read(self._context, None))
        return answer(MessageTokenCount(input_tokens=tokens))


async def _counted(context: Context) -> HttpResponseBase:
    tokens, is_estimated = await messages.count(context)
    response = answer(MessageTokenCount(input_tokens=tokens))
    if is_estimated:
        response[ESTIMATED] = "true"
    return response
