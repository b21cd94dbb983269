"""Responses of OpenAI's API, run by the same loop: where a request belongs, what it asks for, and the
leg it becomes. A response whose input answers the calls of a turn that waits continues that turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.loop import model_names
from agents.loop.extensions import extensions
from agents.loop.images import check_images
from agents.loop.loop import Loop
from agents.loop.run import Resume, Run
from agents.loop.service import Earlier, Service, said_before
from agents.loop.slots import Slot
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
from agents.record.store.retries import Retry
from agents.record.store.sessions import NewSession
from agents.record.store.start_turn import NewResponse, NewTurn, Resumption
from agents.record.store.turns import TurnTarget
from agents.responses.runner import continuation, input, tools
from agents.responses.runner.input import Answers, Given, Place
from agents.responses.schemas.requests import CreateResponse, McpToolParam
from agents.responses.store import conversations, responses
from agents.responses.wire.responses import ResponseHead
from agents.responses.wire.settings import settings_json


@dataclass(frozen=True, slots=True)
class Begun:
    """A response on its way: ``first_seq`` is its first event. One that is not stored brings its ``loop``
    along: it runs where it is read, in the slot that is ``held`` meanwhile. ``again`` says that it was begun
    by an earlier request."""

    head: ResponseHead
    turn: int
    first_seq: int
    queued: bool = False
    again: bool = False
    opening: Sequence[Event] = ()
    loop: Loop | None = None
    held: Callable[[], AbstractContextManager[None]] = nullcontext


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: who asks, what, the body as received, and what came along for providers. ``readable``
    are its items with what a model can read in the place of files, where there are any."""

    actor: Actor
    body: CreateResponse
    raw: bytes
    retry: Retry | None
    provider_data: Mapping[str, Any]
    readable: Sequence[Any] | None = None


def begin(service: Service, asked: Asked) -> Begun:
    """Begin a response. Raises InvalidRequest for what it names in vain, NotFound for what it
    continues, Unavailable while the server drains."""
    again = retries.first_run(asked.retry) if asked.retry else None
    if again:
        return _attached(asked.actor, *again)
    service.check_open()
    try:
        return _first(service, asked)
    except (Conflict, InvalidRequest):
        again = retries.first_run(asked.retry) if asked.retry else None  # it may have begun while this one was read
        if again is None:
            raise
        return _attached(asked.actor, *again)


def _first(service: Service, asked: Asked) -> Begun:
    place = input.place_of(asked.actor, asked.body)
    given = input.read(asked.body.input, asked.readable)
    if place.session is None and asked.body.store:
        place, given = continuation.join(asked.actor, given) or (place, given)
    try:
        return _begin(service, asked, place, given)
    except Conflict as conflict:
        raise _locked(conflict) from conflict


def _begin(service: Service, asked: Asked, place: Place, given: Given) -> Begun:
    if place.waiting is not None and asked.body.store:
        where = turns.target(asked.actor, place.waiting, action="run")  # before what it waits for
        pending = turns.pending_calls(place.waiting)
        answers = input.answers(given, pending, required=place.after is not None)
        if answers is not None:
            return _resume(service, asked, place, where, given, answers)
    if not given.messages:
        raise InvalidRequest("input: there is nothing in it that a model could answer.", param="input")
    return _start(service, asked, place, given)


def _attached(actor: Actor, turn: int, number: int) -> Begun:
    record = responses.of_turn_number(actor, turn, number)
    return Begun(head_of(record), turn, record.first_seq, again=True)


def head_of(record: responses.ResponseRecord) -> ResponseHead:
    return ResponseHead(record.key, record.created_at, record.settings)


def _locked(conflict: Conflict) -> Exception:
    """A conversation takes one response at a time, and OpenAI's clients know it by this code."""
    if conflict.code not in ("conversation_locked", "resume_lost"):
        return conflict
    return conversations.locked_error()


# ---------------------------------------------------------------------------------------------- start


def _start(service: Service, asked: Asked, place: Place, given: Given) -> Begun:
    body, turn = asked.body, ids.new_key()
    session = place.session if place.session is not None else ids.new_key()
    run = run_of(service, asked, turn, session, given.messages)
    if given.outputs:
        input.check_outputs(given, _history(place, session, None, given))
    loop, head = Loop(run), _head(asked, place)
    if not body.store:
        loop.with_history(_history(place, session, None, given))
        held = partial(service.runner.slots.held, asked.actor)
        return Begun(head, turn, 0, opening=loop.open(), loop=loop, held=held)
    with service.runner.slots.entered(asked.actor, None) as slot:
        return _store(service, asked, place, given, loop, head, slot)


def _store(
    service: Service, asked: Asked, place: Place, given: Given, loop: Loop, head: ResponseHead, slot: Slot
) -> Begun:
    body, run, queued = asked.body, loop.run, slot.queued
    opening = loop.open(queued=queued)
    new = NewTurn(
        key=run.turn,
        session=run.session,
        agent=None,
        revision=None,
        model=run.model,
        provider=run.inference.name,
        messages=given.messages,
        request="{}",
        response=_leg(asked, head, given),
        queued=queued,
        end_user=body.safety_identifier or body.user or "",
        after=place.after.key if place.after else None,
        new_session=None if place.session is not None else NewSession(run.session, api=Api.RESPONSES),
        earlier_items=place.earlier,
        metadata=body.metadata,
    )
    leg, first_item = start_turn.open_turn(asked.actor, new, opening, service.runner.owner)
    said = partial(_history, place, run.session, first_item, given)
    service.go(asked.actor, loop, leg, opening, lambda: (said(),), slot)
    return Begun(replace(head, created_at=opening[0].at), run.turn, 0, queued)


def _head(asked: Asked, place: Place) -> ResponseHead:
    settings = settings_json(asked.body, conversation=place.conversation)
    return ResponseHead(ids.new_key(), ids.now_us(), settings)


def _leg(asked: Asked, head: ResponseHead, given: Given) -> NewResponse:
    return NewResponse(
        head.key,
        _without_secrets(asked),
        Api.RESPONSES,
        model=asked.body.model,
        settings=head.settings.decode(),
        items=given.rows,
        retry=asked.retry,
    )


def _without_secrets(asked: Asked) -> bytes:
    """The request as received, but for the headers of MCP servers: they are for this request only."""
    if not any(isinstance(tool, McpToolParam) and (tool.headers or tool.authorization) for tool in asked.body.tools):
        return asked.raw
    request = msgspec.json.decode(asked.raw)
    for tool in request.get("tools", ()):
        tool.pop("headers", None)
        tool.pop("authorization", None)
    return msgspec.json.encode(request)


def _history(place: Place, session: int, first_item: int | None, given: Given) -> list[bytes]:
    """What was said before a turn: the path to the response it continues, or all of its session. Of
    what was deleted in part only whole pairs of call and answer are told."""
    after, answered = place.after, {output.call_id for output in given.outputs}
    if place.session is None:
        return paired_history(history.messages(item.body for item in place.earlier), answered)
    if after is not None and (after.branched or not after.ends_its_session):
        return paired_history(history.up_to(after.key), answered)
    return paired_history(history.before(session, first=first_item), answered)


# --------------------------------------------------------------------------------------------- resume


def _resume(service: Service, asked: Asked, place: Place, where: TurnTarget, given: Given, answers: Answers) -> Begun:
    value = read_turns.turn(asked.actor, where.key, "run")
    start_turn.check_unmoved(where.key, where.next_seq)
    next_step, next_round = turns.next_numbers(where.key)
    resume = Resume(
        leg=where.response_count + 1,
        responses=answers.responses,
        pending=answers.pending,
        next_seq=where.next_seq,
        next_step=next_step,
        round=next_round,
        iterations=0,
        usage=value.usage or Usage(),
        messages=answers.rest.messages,
    )
    run = run_of(service, asked, where.key, where.session, answers.rest.messages)
    run = replace(run, resume=resume, input_messages=MESSAGES.validate_json(value.input_messages))
    loop, head = Loop(run), _head(asked, place)
    opening = loop.open()
    new = _leg(asked, head, given)
    again = Resumption(where.key, where.session, where.epoch, opening, next_step, True, new)
    with service.runner.slots.entered(asked.actor, where.agent) as slot:
        leg = start_turn.resume_turn(again, service.runner.owner)
        service.go(asked.actor, loop, leg, opening, partial(_said_before, where.key), slot)
    return Begun(replace(head, created_at=opening[0].at), where.key, opening[0].seq)


def _said_before(turn: int) -> Earlier:
    before, added = said_before(turn)
    return paired_history(before), added


# ------------------------------------------------------------------------------------------------ run


def run_of(service: Service, asked: Asked, turn: int, session: int, messages: Sequence[TurnMessage]) -> Run:
    """The run of a request's leg. Raises InvalidRequest for what it names in vain."""
    providers, actor, body = service.providers, asked.actor, asked.body
    check_images(messages)
    inference, model = model_names.resolve(providers, actor, body.model)
    offer = tools.offer(providers, actor, body, asked.provider_data)
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
        server_tools=offer.server,
        sources=offer.sources,
        tool_config=offer.config,
        sampling=SamplingParams(strategy=TopPStrategy(top_p=None), max_tokens=body.max_output_tokens),
        response_format=_format(body),
        options=_options(body, has_tools=bool(offer.client or offer.server or offer.sources)),
        input_shields=shields,
        output_shields=shields,
        max_infer_iters=body.max_infer_iters,
        max_tool_calls=body.max_tool_calls,
        one_call=not body.parallel_tool_calls,
        ends_with_client_calls=True,
        truncates=body.truncation == "auto",
        tool_timeout_s=providers.tool_timeout_s,
        provider_data=asked.provider_data,
        clock=ids.now_us,
        new_key=ids.new_key,
    )


def _format(body: CreateResponse) -> ResponseFormat | None:
    wanted = body.text.format
    if wanted.type == "json_schema":
        return JsonSchemaFormat(json_schema=wanted.schema_ or {})
    return JsonSchemaFormat(json_schema={"type": "object"}) if wanted.type == "json_object" else None


def _options(body: CreateResponse, *, has_tools: bool) -> dict[str, Any]:
    """What of a request goes to the endpoint as it is."""
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
    wanted = body.text.format
    if wanted.type == "json_object":
        options["response_format"] = {"type": "json_object"}
    elif wanted.type == "json_schema":
        named = {
            "name": wanted.name,
            "schema": wanted.schema_,
            "strict": wanted.strict,
            "description": wanted.description,
        }
        given = {name: value for name, value in named.items() if value is not None}
        options["response_format"] = {"type": "json_schema", "json_schema": given}
    return {name: value for name, value in options.items() if value is not None}
