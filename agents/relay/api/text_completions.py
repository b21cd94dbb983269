"""OpenAI's text completions: relayed to the endpoint of their model, or answered by a model of this server."""

from __future__ import annotations

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.negotiation import json_response, read_json
from agents.base.api.views import ApiView, Awaited
from agents.loop import model_names
from agents.loop.caller_errors import errors_for_caller
from agents.loop.current_service import service
from agents.loop.inference.base import RelayEndpoint
from agents.relay.api.event_streams import event_stream
from agents.relay.runner.text_completions import TextCall
from agents.relay.schemas.text_completions import CompletionObject, CreateCompletion, OwnTextRequest
from agents.relay.wire.text_completions import prompt_requests


class CompletionCreate(ApiView):
    """A model's continuation of a text. It is not stored."""

    actions = {"post": "run"}

    @extend_schema(
        operation_id="create_completion",
        request=CreateCompletion,
        responses={200: CompletionObject, (200, "text/event-stream"): CompletionObject},
    )
    def post(self, request: Request) -> HttpResponseBase:
        body: CreateCompletion = self.body(CreateCompletion)
        call = self._text_call(body)

        async def stream() -> HttpResponseBase:
            return await event_stream(call.chunks(), request._request)

        async def complete() -> HttpResponseBase:
            with errors_for_caller():
                return json_response(await call.full_completion())

        return Awaited(stream if body.stream else complete)

    def _text_call(self, body: CreateCompletion) -> TextCall:
        inference, model = model_names.resolve(service().providers, self.actor, body.model)
        sent = read_json(self.request._request)
        if isinstance(inference, RelayEndpoint):
            return TextCall(self.actor, sent, inference, model)
        return TextCall(self.actor, sent, inference, model, prompt_requests(model, self.body(OwnTextRequest)))
