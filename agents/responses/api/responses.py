"""OpenAI's Responses API: create, retrieve, follow, cancel and delete responses, list them and their input
items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from agents.base import ids
from agents.base.access import Actor
from agents.base.api import large_answers
from agents.base.api.cursors import CURSOR_PARAMETERS, cursor
from agents.base.api.lists import array, list_json
from agents.base.api.negotiation import json_response
from agents.base.api.parameters import QUERY
from agents.base.api.provider_data import provider_data
from agents.base.api.views import ApiView, Awaited, answer, query_list, stream
from agents.base.errors import Conflict, InvalidRequest
from agents.base.reading import read
from agents.base.store import portions
from agents.base.store.portions import Sized
from agents.loop import model_names
from agents.loop.current_service import service
from agents.query.parser import parse
from agents.record.store import items, retries
from agents.responses.api.item_lists import item_page
from agents.responses.api.streams import frames, response_answer, stream_answer
from agents.responses.runner import files, references, sealed_items
from agents.responses.runner import responses as runs
from agents.responses.runner.requests import ResponseRequest, StartedResponse
from agents.responses.runner.response_state import state_of
from agents.responses.schemas.objects import Deleted, ItemList, ResponseEvent, ResponseList, ResponseObject
from agents.responses.schemas.requests import CreateResponse, checked_include
from agents.responses.store import conversations, responses
from agents.responses.store.responses import ResponseFilter, ResponseRecord
from agents.responses.wire import outcomes
from agents.responses.wire import responses as wire
from agents.responses.wire.items import items_of_row
from agents.responses.wire.responses import ResponseState, response_chunks, response_json

RESPONSE_OR_STREAM = {200: ResponseObject, (200, "text/event-stream"): ResponseEvent}


def _response_answer(record: ResponseRecord, seal: Callable[[str], str] | None = None) -> HttpResponseBase:
    outcome, head = responses.outcomes([record])[record.key], runs.head_of(record, seal)
    chunks = response_chunks(head, state_of(record, outcome, head))
    return large_answers.answer(outcome.details.weight + len(record.settings), chunks)


def _start(request: ResponseRequest) -> HttpResponseBase:
    """Start a response and answer as its request asks: with a stream, at once, or with the finished response."""
    started = runs.begin_response(service(), request)
    if request.body.stream:
        return Awaited(partial(stream_answer, started))
    if request.body.background and started.is_repeated:
        return _response_answer(responses.get(request.actor, started.head.id, "run"))
    if request.body.background:
        return json_response(response_json(started.head, ResponseState("queued")))
    return Awaited(partial(response_answer, started))


async def _read_files_and_start(request: ResponseRequest) -> HttpResponseBase:
    """Read the files of a request, then start its response."""
    answer = await read(_start, await files.with_files(service().providers, request))
    return await answer.work() if isinstance(answer, Awaited) else answer


def _is_true(text: str) -> bool:
    """Parse a boolean parameter. Raises InvalidRequest."""
    if text.lower() not in ("true", "1", "false", "0", ""):
        raise InvalidRequest("stream: true or false.", param="stream")
    return text.lower() in ("true", "1")


class ResponseCreate(ApiView):
    actions = {"get": "read", "post": "run"}

    @extend_schema(operation_id="create_response", request=CreateResponse, responses=RESPONSE_OR_STREAM)
    def post(self, request: Request) -> HttpResponseBase:
        body = references.resolved_body(self.actor, self.body(CreateResponse))
        headers = request._request.headers
        idempotency_key, retry_count = headers.get("Idempotency-Key"), headers.get("X-Stainless-Retry-Count")
        retry = retries.read(self.actor, request.path, self.raw, idempotency_key, retry_count)
        response_request = ResponseRequest(self.actor, body, self.raw, retry, provider_data(request._request))
        if files.has_files(response_request):
            return Awaited(partial(_read_files_and_start, response_request))
        return _start(response_request)

    @extend_schema(
        operation_id="list_responses",
        parameters=[*CURSOR_PARAMETERS, *(OpenApiParameter(name, str) for name in ("model", "conversation")), QUERY],
        responses=ResponseList,
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Additions to Llama Stack's parameters: ``q`` (the query language of the logs), ``conversation`` and
        ``metadata[key]=value``."""
        sized, more = responses.page(
            self.actor, _filter_params(request._request), cursor(request._request, default_limit=50)
        )
        names = [ids.openai(ids.Kind.RESPONSE, key) for key, _ in sized]
        return list_json(_responses_with_input(sized), names, has_more=more, weight=portions.weight(sized))


def _responses_with_input(sized: Sequence[Sized[int]]) -> Iterator[Iterator[bytes]]:
    """Encode responses, each with its input items."""
    for records in responses.records(sized):
        stored = responses.outcomes(records)
        input_rows = items.own_inputs(records)
        for record in records:
            input_items = ((wire.encode(item),) for row in input_rows.pop(record.key) for item in items_of_row(row))
            more = array(b',"input":[', input_items, b"]")
            yield response_chunks(runs.head_of(record), state_of(record, stored[record.key]), more)


def _filter_params(request: HttpRequest) -> ResponseFilter:
    params = request.GET
    metadata = {
        name[len("metadata[") : -1]: str(value)
        for name, value in params.items()
        if name.startswith("metadata[") and name.endswith("]")
    }
    model, conversation = params.get("model", ""), params.get("conversation", "")
    return ResponseFilter(
        models=model_names.names_recorded(service().providers, model) if model else (),
        query=parse(params["q"], now_us=ids.now_us()) if params.get("q", "").strip() else None,
        metadata=metadata,
        conversation=conversations.key_of(conversation) if conversation else None,
    )


class ResponseDetail(ApiView):
    actions = {"get": "read", "delete": "run"}

    @extend_schema(
        operation_id="get_response",
        parameters=[
            OpenApiParameter("stream", bool),
            OpenApiParameter("starting_after", int),
            OpenApiParameter("include", str, many=True),
        ],
        responses=RESPONSE_OR_STREAM,
    )
    def get(self, request: Request, response_id: str) -> HttpResponseBase:
        record = responses.get(self.actor, response_id)
        params = request._request.GET
        seal = sealed_items.seal_for(self.actor, _included(request._request))
        if not _is_true(params.get("stream", "")):
            return _response_answer(record, seal)
        after = _starting_after(params.get("starting_after", ""))
        return stream(frames(StartedResponse(runs.head_of(record, seal), record.turn, record.first_seq), after))

    @extend_schema(operation_id="delete_response", responses=Deleted)
    def delete(self, request: Request, response_id: str) -> HttpResponseBase:
        responses.delete(self.actor, response_id)
        return answer(Deleted(id=response_id, object="response", deleted=True))


def _included(request: HttpRequest) -> list[str]:
    """Return what is to be included. Raises InvalidRequest."""
    try:
        return checked_include(query_list(request, "include") or [])
    except ValueError as error:
        raise InvalidRequest(f"include: {error}", param="include") from None


def _starting_after(raw: str) -> int:
    if not raw:
        return -1
    if not raw.isdecimal() or len(raw) > 12:
        raise InvalidRequest("starting_after: must be the number of an event.", param="starting_after")
    return int(raw)


class ResponseCancel(ApiView):
    actions = {"post": "run"}

    @extend_schema(operation_id="cancel_response", request=None, responses=ResponseObject)
    def post(self, request: Request, response_id: str) -> HttpResponseBase:
        record = responses.get(self.actor, response_id, "run")
        if record.status.label == "cancelled":
            return _response_answer(record)
        if not record.is_live:
            message = f"Cannot cancel a response that is {outcomes.status_of(record.status.label, None)}."
            raise Conflict(message, code="response_over")
        service().cancel_turn(self.actor, record.turn)
        return Awaited(partial(self._wait_for_end, record))

    async def _wait_for_end(self, record: ResponseRecord) -> HttpResponseBase:
        async for _ in frames(StartedResponse(runs.head_of(record), record.turn, record.first_seq)):
            pass
        return await read(_current_answer, self.actor, record.public_id)


def _current_answer(actor: Actor, response_id: str) -> HttpResponseBase:
    return _response_answer(responses.get(actor, response_id, "run"))


class ResponseItems(ApiView):
    actions = {"get": "read"}

    @extend_schema(operation_id="list_input_items", parameters=CURSOR_PARAMETERS, responses=ItemList)
    def get(self, request: Request, response_id: str) -> HttpResponseBase:
        record = responses.get(self.actor, response_id)
        return item_page(request._request, items.input_of(record))
