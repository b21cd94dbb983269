"""OpenAI's Responses API: a context summed up, and its tokens counted."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer
from agents.base.reading import read
from agents.loop.current_service import service
from agents.responses.api.streams import finished
from agents.responses.runner import contexts, files, references
from agents.responses.runner.requests import ResponseRequest
from agents.responses.runner.responses import begin_response
from agents.responses.schemas.contexts import CompactContext, CompactedContext, CountInput, InputTokens
from agents.responses.schemas.input_items import CompactionTriggerItem, items_of_input
from agents.responses.schemas.objects import ItemObject
from agents.responses.schemas.requests import CreateResponse, WarmUpResponse
from agents.responses.wire.responses import usage_json

ESTIMATED = "X-Tokens-Estimated"
"""Header of a count that is estimated, because the model's endpoint does not count."""
_NO_MODEL = "none"


class _ContextView(ApiView):
    actions = {"post": "run"}

    def _asked(self, request: Request, body: CreateResponse) -> ResponseRequest:
        """Return the request for a response that has this context. Raises NotFound, InvalidRequest."""
        body = references.resolved_body(self.actor, body)
        return ResponseRequest(self.actor, body, self.raw, None, provider_data(request._request))


class ContextCompact(_ContextView):
    @extend_schema(operation_id="compact_context", request=CompactContext, responses=CompactedContext)
    def post(self, request: Request) -> HttpResponseBase:
        body = self.body(CompactContext)
        items = [*(items_of_input(body.input) if body.input else ()), CompactionTriggerItem(type="compaction_trigger")]
        fields: dict[str, Any] = {name: getattr(body, name) for name in CompactContext.model_fields if name != "input"}
        asked = CreateResponse.model_construct(input=items, store=False, **fields)
        return Awaited(partial(_compacted, self._asked(request, asked)))


async def _compacted(request: ResponseRequest) -> HttpResponseBase:
    request = await files.with_files(service().providers, request)
    started = await read(begin_response, service(), request)
    encoder = await finished(started)
    kept = await contexts.messages_of_users(request)
    output = [*kept, *map(msgspec.json.decode, encoder.state.output)]
    return answer(
        CompactedContext(
            id=started.head.id,
            created_at=started.head.created_at // 1_000_000,
            output=[ItemObject.model_validate(item) for item in output],
            usage=usage_json(encoder.state.usage) or {},
        )
    )


class InputTokenCount(_ContextView):
    @extend_schema(operation_id="count_input_tokens", request=CountInput, responses=InputTokens)
    def post(self, request: Request) -> HttpResponseBase:
        body = self.body(CountInput)
        fields: dict[str, Any] = {name: getattr(body, name) for name in CountInput.model_fields}
        fields["model"] = body.model or _NO_MODEL
        asked = WarmUpResponse.model_construct(store=False, **fields)
        return Awaited(partial(_counted, self._asked(request, asked), has_model=body.model is not None))


async def _counted(request: ResponseRequest, *, has_model: bool) -> HttpResponseBase:
    request = await files.with_files(service().providers, request)
    count = await contexts.count(service(), request, has_model=has_model)
    response = answer(InputTokens(input_tokens=count.tokens))
    if count.is_estimated:
        response[ESTIMATED] = "true"
    return response
