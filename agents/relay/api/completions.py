"""OpenAI's chat completions: relayed to the endpoint of their model, logged and listed; or a turn of the agent that
their model names."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base.api import large_answers
from agents.base.api.lists import list_json
from agents.base.api.negotiation import json_response, read_json
from agents.base.api.parameters import AFTER_ALONE, LIMIT, ORDER
from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer
from agents.base.errors import InvalidRequest
from agents.base.store import portions
from agents.loop import agent_names, model_names
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.inference.base import RelayEndpoint
from agents.loop.sent_request import SentRequest
from agents.record.store import retries
from agents.record.store.agents import AgentRecord
from agents.relay import store as completions
from agents.relay.api.event_streams import event_stream
from agents.relay.runner import agent_chat
from agents.relay.runner.agent_chat import AgentChat
from agents.relay.runner.call_log import CallLog
from agents.relay.runner.completions import ChatCall
from agents.relay.schemas.agent_chat import AgentChatRequest
from agents.relay.schemas.completions import (
    ChatCompletionChunk,
    ChatCompletionObject,
    CompletionDeleted,
    CompletionList,
    CreateChatCompletion,
    OwnChatRequest,
    SentMessageList,
    StoredCompletion,
    UpdateChatCompletion,
)
from agents.relay.wire import stored_messages
from agents.relay.wire.chat_completions import inference_request

DEFAULT_LIMIT, MAX_LIMIT = 20, 100


class ChatCompletionList(ApiView):
    """The log of chat completions, and a new one."""

    actions = {"get": "read", "post": "run"}

    @extend_schema(
        operation_id="create_chat_completion",
        request=CreateChatCompletion,
        responses={200: ChatCompletionObject, (200, "text/event-stream"): ChatCompletionChunk},
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateChatCompletion = self.body(CreateChatCompletion)
        agent = agent_names.of_model(service().providers, self.actor, body.model)
        call = self._chat_call(body) if agent is None else self._agent_chat(agent)

        async def stream() -> HttpResponseBase:
            return await event_stream(call.chunks(), request._request)

        async def complete() -> HttpResponseBase:
            with errors_for_caller():
                return json_response(await call.full_completion())

        return Awaited(stream if body.stream else complete)

    def _agent_chat(self, agent: AgentRecord) -> AgentChat:
        request = self.request._request
        key, count = request.headers.get("Idempotency-Key"), request.headers.get("X-Stainless-Retry-Count")
        retry = retries.read(self.actor, request.path, self.raw, key, count)
        sent = SentRequest(self.raw, retry, provider_data(request))
        return agent_chat.begin(self.actor, agent, self.body(AgentChatRequest), sent)

    def _chat_call(self, body: CreateChatCompletion) -> ChatCall:
        sent = read_json(self.request._request)
        inference, model = model_names.resolve(service().providers, self.actor, body.model)
        plain = None
        if not isinstance(inference, RelayEndpoint):
            plain = inference_request(model, sent["messages"], self.body(OwnChatRequest))
        return ChatCall(CallLog(self.actor, sent, model), inference, plain)

    @extend_schema(
        operation_id="list_chat_completions",
        parameters=[AFTER_ALONE, LIMIT, OpenApiParameter("model", str), ORDER],
        responses=CompletionList,
    )
    def get(self, request: Request) -> HttpResponseBase:
        params = request._request.GET
        page = completions.page(
            self.actor,
            after=params.get("after", ""),
            limit=_limit(params.get("limit", "")),
            model=params.get("model", ""),
            newest_first=_order(params.get("order") or "desc") == "desc",
        )
        bodies, weight = ((body,) for body in page.bodies()), portions.weight(page.sized)
        return list_json(bodies, page.public_ids, has_more=page.has_more, weight=weight)


def _order(raw: str) -> str:
    if raw not in ("asc", "desc"):
        raise InvalidRequest("order: asc or desc.", param="order")
    return raw


def _limit(raw: str) -> int:
    if not raw:
        return DEFAULT_LIMIT
    if not raw.isdecimal() or len(raw) > 6 or not int(raw):
        raise InvalidRequest("limit: a positive whole number is needed.", param="limit")
    return min(int(raw), MAX_LIMIT)


class ChatCompletionDetail(ApiView):
    actions = {"get": "read", "post": "manage", "delete": "manage"}

    @extend_schema(operation_id="get_chat_completion", responses=StoredCompletion)
    def get(self, request: Request, completion_id: str) -> HttpResponseBase:
        return large_answers.answer(*completions.get(self.actor, completion_id))

    @extend_schema(
        operation_id="update_chat_completion", request=UpdateChatCompletion, responses={200: StoredCompletion}
    )
    def post(self, request: Request, completion_id: str) -> HttpResponseBase:
        completions.get(self.actor, completion_id, "manage")
        body: UpdateChatCompletion = self.body(UpdateChatCompletion)
        completions.set_metadata(self.actor, completion_id, body.metadata)
        return large_answers.answer(*completions.get(self.actor, completion_id, "manage"))

    @extend_schema(operation_id="delete_chat_completion", responses=CompletionDeleted)
    def delete(self, request: Request, completion_id: str) -> HttpResponseBase:
        completions.delete(self.actor, completion_id)
        return answer(CompletionDeleted(id=completion_id))


class ChatCompletionMessages(ApiView):
    """The messages that a chat completion was asked with, the first one first."""

    actions = {"get": "read"}

    @extend_schema(
        operation_id="list_chat_completion_messages",
        parameters=[AFTER_ALONE, LIMIT, ORDER],
        responses=SentMessageList,
    )
    def get(self, request: Request, completion_id: str) -> HttpResponseBase:
        params = request._request.GET
        weight, body = completions.get(self.actor, completion_id)
        page = stored_messages.page(
            completion_id,
            b"".join(body),
            after=params.get("after", ""),
            limit=_limit(params.get("limit", "")),
            newest_first=_order(params.get("order") or "asc") == "desc",
        )
        bodies = ((message,) for message in page.messages)
        return list_json(bodies, page.ids, has_more=page.has_more, weight=weight)
