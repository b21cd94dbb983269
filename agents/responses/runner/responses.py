"""Starts responses of OpenAI's API, which run in the same loop as turns of the Agents API. A response
whose input answers the calls of a waiting turn continues that turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from agents.base import ids, tracing
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.loop import model_names
from agents.loop.extensions import extensions
from agents.loop.images import check_images
from agents.loop.loop import Loop
from agents.loop.run import Compaction, Resume, Run
from agents.loop.service import EarlierItems, Place, Service, earlier_items
from agents.record.models.choices import Api
from agents.record.schemas.chat import paired_history
from agents.record.schemas.content import (
    JsonSchemaFormat,
    ResponseFormat,
    SamplingParams,
    TopPStrategy,
    TurnMessage,
    Usage,
)
from agents.record.schemas.events import Event
from agents.record.schemas.turns import MESSAGES
from agents.record.store import history, read_turns, retries, start_turn, turns
from agents.record.store.history import NewItem
from agents.record.store.new_responses import NewResponse
from agents.record.store.retries import Retry
from agents.record.store.sessions import NewSession
from agents.record.store.start_turn import NewTurn, Resumption
from agents.record.store.turns import TurnTarget
from agents.responses.runner import continuation, input, sealed_items, tools
from agents.responses.runner.input import ClientAnswers, ParsedInput, ResponseTarget
from agents.responses.schemas.requests import CreateResponse
from agents.responses.schemas.tools import McpToolParam
from agents.responses.store import conversations, responses
from agents.responses.wire.responses import ResponseHead
from agents.responses.wire.settings import settings_json


@dataclass(frozen=True, slots=True)
class StartedResponse:
    """A started response. ``first_seq`` is the number of its first event. A response that is not stored has its
    ``loop``: it runs where it is read, in a slot of ``hold_slot``. ``is_repeated`` says that an earlier request has
    started it."""

    head: ResponseHead
    turn: int
    first_seq: int
    queued: bool = False
    is_repeated: bool = False
    opening: Sequence[Event] = ()
    loop: Loop | None = None
    hold_slot: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A request for a response: its actor, its parsed and raw body, and the caller's data for providers.
    ``readable`` are its items with files replaced for the model, where there are files; ``earlier`` the items before
    it where they are not those of a stored response."""

    actor: Actor
    body: CreateResponse
    raw: bytes
    retry: Retry | None
    provider_data: Mapping[str, Any]
    readable: Sequence[Any] | None = None
    earlier: Sequence[NewItem] | None = None


def begin_response(service: Service, request: ResponseRequest) -> StartedResponse:
    """Start a response. Raises InvalidRequest for an unknown name, NotFound for an unknown response or
    conversation, Unavailable while the server shuts down."""
    earlier_run = retries.first_run(request.retry) if request.retry else None
    if earlier_run:
        return _repeated_response(request, *earlier_run)
    service.check_open()
    try:
        return _start_for_input(service, request)
    except (Conflict, InvalidRequest):
        earlier_run = (
            retries.first_run(request.retry) if request.retry else None
        )  # it may have begun while this one was read
        if earlier_run is None:
            raise
        return _repeated_response(request, *earlier_run)


def _start_for_input(service: Service, request: ResponseRequest) -> StartedResponse:
    parsed = input.parse_input(request.body.input, request.readable)
    if request.earlier is not None:
        return _resume_or_start(service, request, ResponseTarget(earlier=request.earlier), parsed)
    target = input.target_of(request.actor, request.body)
    if target.session is None and request.body.store:
        target, parsed = continuation.find_continuation(request.actor, parsed) or (target, parsed)
    try:
        return _resume_or_start(service, request, target, parsed)
    except Conflict as conflict:
        raise _openai_conflict(conflict) from conflict


def _resume_or_start(
    service: Service, request: ResponseRequest, target: ResponseTarget, parsed: ParsedInput
) -> StartedResponse:
    if target.waiting_turn is not None and request.body.store:
        turn_target = turns.target(
            request.actor, target.waiting_turn, action="run"
        )  # read before the calls that it waits for
        pending = turns.pending_calls(target.waiting_turn)
        answers = input.client_answers(parsed, pending, required=target.after is not None)
        if answers is not None:
            return _resume(service, request, target, turn_target, parsed, answers)
    if not parsed.messages and not (request.body.sums_up_only and _has_history(target)):
        raise InvalidRequest("input: there is nothing in it that a model could answer.", param="input")
    return _start(service, request, target, parsed)


def _has_history(target: ResponseTarget) -> bool:
    return target.session is not None or bool(target.earlier)


def _repeated_response(request: ResponseRequest, turn: int, number: int) -> StartedResponse:
    record = responses.of_turn_number(request.actor, turn, number)
    head = head_of(record, sealed_items.seal_for(request.actor, request.body.include))
    return StartedResponse(head, turn, record.first_seq, is_repeated=True)


def head_of(record: responses.ResponseRecord, seal: Callable[[str], str] | None = None) -> ResponseHead:
    return ResponseHead(record.key, record.created_at, record.settings, seal)


def _openai_conflict(conflict: Conflict) -> Exception:
    """Return OpenAI's error for a conversation that has a running response; other conflicts unchanged."""
    if conflict.code not in ("conversation_locked", "resume_lost"):
        return conflict
    return conversations.locked_error()


# ---------------------------------------------------------------------------------------------- start


def _start(service: Service, request: ResponseRequest, target: ResponseTarget, parsed: ParsedInput) -> StartedResponse:
    body, turn = request.body, ids.new_key()
    session = target.session if target.session is not None else ids.new_key()
    run = response_run(service, request, turn, session, parsed.messages)
    if parsed.outputs:
        input.check_outputs(parsed, _history(target, session, None, parsed))
    loop = Loop(run)
    if not body.store:
        loop.with_history(_history(target, session, None, parsed))
        hold_slot = partial(service.runner.slots.hold, request.actor)
        head = new_head(request, target.conversation)
        return StartedResponse(head, turn, 0, opening=loop.open(), loop=loop, hold_slot=hold_slot)
    with service.place(request.actor, None, needs_caller=_needs_caller(request)) as place:
        return _store(service, request, target, parsed, loop, place)


def _store(
    service: Service,
    request: ResponseRequest,
    target: ResponseTarget,
    parsed: ParsedInput,
    loop: Loop,
    place: Place,
) -> StartedResponse:
    body, run, queued, head = request.body, loop.run, place.queued, new_head(request, target.conversation)
    opening = loop.open(queued=queued)
    new = NewTurn(
        key=run.turn,
        session=run.session,
        agent=None,
        revision=None,
        model=run.model,
        provider=run.inference.name,
        messages=parsed.messages,
        request="{}",
        response=_new_response(request, head, parsed),
        queued=queued,
        end_user=body.safety_identifier or body.user or "",
        after=target.after.key if target.after else None,
        new_session=None if target.session is not None else NewSession(run.session, api=Api.RESPONSES),
        earlier_items=target.earlier,
        metadata=body.metadata,
    )
    turn_ref, first_item = start_turn.open_turn(request.actor, new, opening, place.owner)
    history_items = partial(_history, target, run.session, first_item, parsed)
    service.run_response(request.actor, loop, turn_ref, opening, lambda: (history_items(),), place)
    return StartedResponse(replace(head, created_at=opening[0].at), run.turn, 0, queued)


def new_head(request: ResponseRequest, conversation: str | None = None) -> ResponseHead:
    """Return the head of a response that begins now."""
    settings = settings_json(request.body, conversation=conversation)
    seal = sealed_items.seal_for(request.actor, request.body.include)
    return ResponseHead(ids.new_key(), ids.now_us(), settings, seal)


def _new_response(request: ResponseRequest, head: ResponseHead, parsed: ParsedInput) -> NewResponse:
    return NewResponse(
        head.key,
        _without_secrets(request),
        Api.RESPONSES,
        model=request.body.model,
        settings=head.settings.decode(),
        items=parsed.rows,
        retry=request.retry,
        needs_caller=_needs_caller(request),
        actor=request.actor,
    )


def _needs_caller(request: ResponseRequest) -> bool:
    """Tell whether a response needs data of its caller that is not stored."""
    return bool(request.provider_data) or _has_secrets(request)


def _has_secrets(request: ResponseRequest) -> bool:
    return any(isinstance(tool, McpToolParam) and (tool.headers or tool.authorization) for tool in request.body.tools)


def _without_secrets(request: ResponseRequest) -> bytes:
    """Return the request as received, without the headers of MCP servers, which are for this request only."""
    if not _has_secrets(request):
        return request.raw
    raw_request = msgspec.json.decode(request.raw)
    for tool in raw_request.get("tools", ()):
        tool.pop("headers", None)
        tool.pop("authorization", None)
    return msgspec.json.encode(raw_request)


def history_of(target: ResponseTarget, parsed: ParsedInput) -> list[bytes]:
    """Return the history before a request that no turn is stored for."""
    return _history(target, target.session or 0, None, parsed)


def _history(target: ResponseTarget, session: int, first_item: int | None, parsed: ParsedInput) -> list[bytes]:
    """Return the history before a turn: the path to the response it continues, or its full session. After
    deletions only complete pairs of call and answer remain in it."""
    after, answered_calls = target.after, {output.called for output in parsed.outputs}
    if target.session is None:
        return paired_history(history.messages(item.body for item in target.earlier), answered_calls)
    if after is not None and (after.branched or not after.ends_its_session):
        return paired_history(history.up_to(after.key), answered_calls)
    return paired_history(history.before(session, first=first_item), answered_calls)


# --------------------------------------------------------------------------------------------- resume


def _resume(
    service: Service,
    request: ResponseRequest,
    target: ResponseTarget,
    turn_target: TurnTarget,
    parsed: ParsedInput,
    answers: ClientAnswers,
) -> StartedResponse:
    value = read_turns.turn(request.actor, turn_target.key, "run")
    start_turn.check_unmoved(turn_target.key, turn_target.next_seq)
    next_step, next_round = turns.next_numbers(turn_target.key)
    resume = Resume(
        response_number=turn_target.response_count + 1,
        responses=answers.responses,
        pending=answers.pending,
        next_seq=turn_target.next_seq,
        next_step=next_step,
        round=next_round,
        iterations=0,
        usage=value.usage or Usage(),
        messages=answers.other_input.messages,
    )
    run = response_run(service, request, turn_target.key, turn_target.session, answers.other_input.messages)
    messages = MESSAGES.validate_json(value.input_messages)
    run = replace(run, resume=resume, input_messages=messages, trace=tracing.parse(value.traceparent))
    loop, head = Loop(run), new_head(request, target.conversation)
    opening = loop.open()
    new_response = _new_response(request, head, parsed)
    resumption = Resumption(
        turn_target.key, turn_target.session, turn_target.epoch, opening, next_step, True, new_response
    )
    with service.place(request.actor, turn_target.agent, needs_caller=_needs_caller(request)) as place:
        turn_ref = start_turn.resume_turn(resumption, place.owner)
        service.run_response(request.actor, loop, turn_ref, opening, partial(_earlier_items, turn_target.key), place)
    return StartedResponse(replace(head, created_at=opening[0].at), turn_target.key, opening[0].seq)


def _earlier_items(turn: int) -> EarlierItems:
    before, added = earlier_items(turn)
    return paired_history(before), added


# ------------------------------------------------------------------------------------------------ run


def response_run(
    service: Service, request: ResponseRequest, turn: int, session: int, messages: Sequence[TurnMessage]
) -> Run:
    """Build the run of a request's response. Raises InvalidRequest for an unknown name."""
    providers, actor, body = service.providers, request.actor, request.body
    check_images(messages)
    inference, model = model_names.resolve(providers, actor, body.model)
    offer = tools.offered_tools(providers, actor, body, request.provider_data)
    shields = extensions.shields(providers, actor, body.guardrail_ids, "guardrails")
    return Run(
        turn=turn,
        session=session,
        actor=actor.name,
        model=body.model,
        inference_model=model,
        inference=inference,
        instructions=body.instructions or "",
        input_messages=messages,
        client_tools=offer.client,
        client_forms=offer.forms,
        left_out=offer.left_out,
        server_tools=offer.server,
        tool_sources=offer.sources,
        tool_config=offer.config,
        sampling=SamplingParams(strategy=TopPStrategy(top_p=None), max_tokens=body.max_output_tokens),
        response_format=_format(body),
        options=_options(body, has_tools=bool(offer.client or offer.server or offer.sources)),
        input_shields=shields,
        output_shields=shields,
        max_infer_iters=body.max_infer_iters,
        max_tool_calls=body.max_tool_calls,
        single_call=not body.parallel_tool_calls,
        ends_with_client_calls=True,
        truncates=body.truncation == "auto",
        compaction=_compaction(actor, body),
        tool_timeout_s=providers.tool_timeout_s,
        provider_data=request.provider_data,
        clock=ids.now_us,
        new_key=ids.new_key,
    )


def _compaction(actor: Actor, body: CreateResponse) -> Compaction | None:
    if not body.sums_up_only and body.compact_threshold is None:
        return None
    return Compaction(sealed_items.seal_of_summaries(actor), body.compact_threshold, body.sums_up_only)


def _format(body: CreateResponse) -> ResponseFormat | None:
    text_format = body.text.format
    if text_format.type == "json_schema":
        return JsonSchemaFormat(json_schema=text_format.schema_ or {})
    return JsonSchemaFormat(json_schema={"type": "object"}) if text_format.type == "json_object" else None


def _options(body: CreateResponse, *, has_tools: bool) -> dict[str, Any]:
    """Return the fields of a request that go to the endpoint unchanged."""
    options: dict[str, Any] = {
        "temperature": body.temperature,
        "top_p": body.top_p,
        "presence_penalty": body.presence_penalty,
        "frequency_penalty": body.frequency_penalty,
        "reasoning_effort": body.reasoning.effort if body.reasoning else None,
        "verbosity": body.text.verbosity,
        "prompt_cache_key": body.prompt_cache_key,
        "safety_identifier": body.safety_identifier,
        "user": body.user,
        "service_tier": body.service_tier,
        "parallel_tool_calls": False if has_tools and not body.parallel_tool_calls else None,
    }
    text_format = body.text.format
    if text_format.type == "json_object":
        options["response_format"] = {"type": "json_object"}
    elif text_format.type == "json_schema":
        format_fields = {
            "name": text_format.name,
            "schema": text_format.schema_,
            "strict": text_format.strict,
            "description": text_format.description,
        }
        schema_format = {name: value for name, value in format_fields.items() if value is not None}
        options["response_format"] = {"type": "json_schema", "json_schema": schema_format}
    return {name: value for name, value in options.items() if value is not None}
