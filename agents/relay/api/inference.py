"""Llama Stack's inference API: a model's answer without an agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from pydantic import BaseModel
from rest_framework.request import Request

from agents.base.api.views import ApiView, Awaited, answer
from agents.base.errors import InvalidRequest
from agents.loop import embedding_models, model_names, spending
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.spending import ModelNames
from agents.record.schemas.content import ImageItem, text_of
from agents.relay.api.event_streams import event_stream
from agents.relay.schemas.inference import (
    ChatCompletionAnswer,
    ChatCompletionEvent,
    ChatCompletionRequest,
    CompletionAnswer,
    CompletionEvent,
    CompletionRequest,
    EmbeddingsAnswer,
    EmbeddingsRequest,
)
from agents.relay.wire.inference import (
    chat_events,
    chat_request,
    collect_answer,
    completion_answer,
    completion_request,
    text_events,
)


def _respond(
    request: Request, events: AsyncGenerator[bytes, None] | None, complete: Callable[[], Awaitable[BaseModel]]
) -> HttpResponseBase:
    """Answer with a stream of ``events``; without them, with the complete answer."""

    async def streamed(events: AsyncGenerator[bytes, None]) -> HttpResponseBase:
        return await event_stream(events, request._request)

    async def plain() -> HttpResponseBase:
        with errors_for_caller():
            return answer(await complete())

    return Awaited(partial(streamed, events) if events is not None else plain)


class InferenceChatCompletion(ApiView):
    """A model's answer to messages. It is not stored."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="inference_chat_completion",
        request=ChatCompletionRequest,
        responses={200: ChatCompletionAnswer, (200, "text/event-stream"): ChatCompletionEvent},
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: ChatCompletionRequest = self.body(ChatCompletionRequest)
        inference, model = model_names.resolve(service().providers, self.actor, body.model_id)
        chunks = spending.counted(
            inference.stream(chat_request(model, body)),
            spending.spender_of(self.actor),
            ModelNames(model, body.model_id),
        )

        async def complete() -> BaseModel:
            return ChatCompletionAnswer(completion_message=(await collect_answer(chunks)).message())

        events = chat_events(chunks) if body.stream else None
        return _respond(request, events, complete)


class InferenceCompletion(ApiView):
    """A model's continuation of a text. It is not stored."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="inference_completion",
        request=CompletionRequest,
        responses={200: CompletionAnswer, (200, "text/event-stream"): CompletionEvent},
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: CompletionRequest = self.body(CompletionRequest)
        inference, model = model_names.resolve(service().providers, self.actor, body.model_id)
        chunks = spending.counted(
            inference.stream(completion_request(model, body)),
            spending.spender_of(self.actor),
            ModelNames(model, body.model_id),
        )

        async def complete() -> BaseModel:
            return completion_answer(await collect_answer(chunks))

        events = text_events(chunks) if body.stream else None
        return _respond(request, events, complete)


class InferenceEmbeddings(ApiView):
    """Texts as vectors."""

    actions = {"post": "run"}

    @extend_schema(operation_id="inference_embeddings", request=EmbeddingsRequest, responses=EmbeddingsAnswer)
    def post(self, request: Request) -> HttpResponseBase:
        body: EmbeddingsRequest = self.body(EmbeddingsRequest)
        for number, content in enumerate(body.contents):
            if isinstance(content, ImageItem):
                raise InvalidRequest(f"contents.{number}: images have no embedding here.", param="contents")
        texts = [text_of(content) for content in body.contents]
        model = embedding_models.find(service().providers, self.actor, body.model_id, param="model_id")

        async def work() -> HttpResponseBase:
            with errors_for_caller():
                vectors = await model.embed(texts)
            embedding_models.check_dimension(vectors, body.output_dimension, param="output_dimension")
            return answer(EmbeddingsAnswer(embeddings=vectors))

        return Awaited(work)
