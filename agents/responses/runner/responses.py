"""Starts responses of OpenAI's API, which run in the same loop as turns of the Agents API. A response
whose input answers the calls of a waiting turn continues that turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import msgspec

from agents.base import ids, tracing
from agents.base.errors import Conflict, InvalidRequest
from agents.loop import agent_names, hand_over
from agents.loop.loop import Loop
from agents.loop.places import Place
from agents.loop.run import Resume, Run
from agents.loop.service import EarlierItems, Service, earlier_items
from agents.loop.spending import ModelNames, UnrecordedSpending, check
from agents.record.schemas.chat import paired_history
from agents.record.schemas.content import (
    Usage,
)
from agents.record.schemas.turns import MESSAGES
from agents.record.store import history, read_turns, retries, start_turn, turns
from agents.record.store.new_responses import NewResponse
from agents.record.store.recorder import TurnRef
from agents.record.store.sessions import NewSession
from agents.record.store.spending import Spender
from agents.record.store.start_turn import NewTurn, Resumption
from agents.record.store.turns import TurnTarget
from agents.responses.runner import agent_runs, continuation, earlier_tools, input, kept, sealed_items
from agents.responses.runner.input import ClientAnswers, ParsedInput, ResponseTarget
from agents.responses.runner.requests import ResponseRequest, StartedResponse
from agents.responses.runner.response_run import response_run
from agents.responses.schemas.tools import McpToolParam
from agents.responses.store import conversations, responses
from agents.responses.wire.responses import ResponseHead
from agents.responses.wire.settings import settings_json

log = logging.getLogger(__name__)


def begin_response(service: Service, request: ResponseRequest) -> StartedResponse:
    """Start a response. Raises InvalidRequest for an unknown name, NotFound for an unknown response or
    conversation, Unavailable while the server shuts down."""
    earlier_run = retries.first_run(request.retry) if request.retry else None
    if earlier_run:
        return _repeated_response(request, *earlier_run)
    service.check_open()
    request = with_agent(service, request)
    try:
        return _start_for_input(service, request)
    except (Conflict, InvalidRequest):
        earlier_run = (
            retries.first_run(request.retry) if request.retry else None
        )  # it may have begun while this one was read
        if earlier_run is None:
            raise
        return _repeated_response(request, *earlier_run)


def with_agent(service: Service, request: ResponseRequest) -> ResponseRequest:
    """Return a request with the agent that its model names, if it names one. Raises as `agent_names.of_model`."""
    return replace(request, agent=agent_names.of_model(service.providers, request.actor, request.body.model))


def _start_for_input(service: Service, request: ResponseRequest) -> StartedResponse:
    parsed = input.parse_input(request.body.input, request.readable)
    if request.is_kept:
        return _start_kept(service, request, parsed)
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
    request = replace(request, earlier_tools=earlier_tools.before(request, target))
    if target.waiting_turn is not None and request.is_recorded:
        turn_target = turns.target(
            request.actor, target.waiting_turn, action="run"
        )  # read before the calls that it waits for
        pending = turns.pending_calls(target.waiting_turn)
        answers = input.client_answers(parsed, pending, required=target.after is not None)
        if answers is not None:
            return _resume(service, request, target, turn_target, parsed, answers)
    if not parsed.messages and not (target.shown or (request.body.sums_up_only and _has_history(target))):
        raise InvalidRequest("input: there is nothing in it that a model could answer.", param="input")
    return _start(service, request, target, parsed)


def _start_kept(service: Service, request: ResponseRequest, parsed: ParsedInput) -> StartedResponse:
    """Start a response that only the log keeps. Where it goes on in the log is nothing that its client knows of: what
    stands in the way there begins another session."""
    found = kept.continued(request, parsed)
    if found is not None:
        try:
            return _resume_or_start(service, request, *found)
        except (Conflict, InvalidRequest) as reason:  # it still runs, or waits for more than is answered
            log.info("a response that is not stored begins a session of its own: %s", reason)
    return _resume_or_start(service, request, kept.own_session(request), parsed)


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
    turn = ids.new_key()
    session = target.session if target.session is not None else ids.new_key()
    run = response_run(service, request, turn, session, parsed.messages)
    if parsed.outputs:
        input.check_outputs(parsed, _history(target, session, None, parsed))
    loop = Loop(run)
    if not request.is_recorded:
        loop.with_history(_history(target, session, None, parsed))
        return _unrecorded(service, request, loop, new_head(request, target.conversation))
    agent_key = request.agent.key if request.agent else None
    with service.place(request.actor, agent_key, run, needs_caller=_needs_caller(request)) as place:
        return _store(service, request, target, parsed, loop, place)


def _unrecorded(service: Service, request: ResponseRequest, loop: Loop, head: ResponseHead) -> StartedResponse:
    """Start a response that nothing is stored of."""
    model = ModelNames(loop.run.inference_model, loop.run.model)
    agent_key = request.agent.key if request.agent else None
    spender = Spender(request.actor.user_id, request.actor.key_id, agent_key)
    counted = UnrecordedSpending(spender, model, loop.run.budget)
    check(spender, model, loop.run.budget)
    loop.progress.check_budgets = counted.refusal
    hold_slot = partial(service.runner.slots.hold, request.actor)
    return StartedResponse(
        head, loop.run.turn, 0, opening=loop.open(), loop=loop, hold_slot=hold_slot, spending=counted
    )


def _store(
    service: Service,
    request: ResponseRequest,
    target: ResponseTarget,
    parsed: ParsedInput,
    loop: Loop,
    place: Place,
) -> StartedResponse:
    body, run, queued, head = request.body, loop.run, place.queued, new_head(request, target.conversation)
    agent_key = request.agent.key if request.agent else None
    opening = place.open(loop)
    new = NewTurn(
        key=run.turn,
        session=run.session,
        agent=agent_key,
        revision=request.agent.revision if request.agent else None,
        model=run.model,
        provider=run.inference.name,
        messages=parsed.messages,
        request="{}",
        response=_new_response(request, head, parsed, run),
        queued=queued,
        end_user=body.safety_identifier or body.user or "",
        after=target.after.key if target.after else None,
        new_session=None if target.session is not None else NewSession(run.session, agent_key, api=request.api),
        earlier_items=target.earlier,
        metadata=kept.metadata_of(request),
    )
    turn_ref, first_item = start_turn.open_turn(request.actor, new, opening, place.owner)
    history_items = partial(_history, target, run.session, first_item, parsed)
    service.run_response(request.actor, loop, turn_ref, opening, lambda: (history_items(),), place)
    head = replace(head, created_at=opening[0].at)
    return StartedResponse(head, run.turn, 0, queued, cancel=_cancel(service, request, turn_ref))


def _cancel(service: Service, request: ResponseRequest, turn: TurnRef) -> Callable[[], None] | None:
    """Return what stops a response whose client hangs up; None for one that goes on."""
    return partial(service.runner.cancel, turn.turn, turn.epoch, "its client has hung up") if request.is_kept else None


def new_head(request: ResponseRequest, conversation: str | None = None) -> ResponseHead:
    """Return the head of a response that begins now."""
    settings = settings_json(request.body, conversation=conversation)
    seal = sealed_items.seal_for(request.actor, request.body.include)
    return ResponseHead(ids.new_key(), ids.now_us(), settings, seal)


def _new_response(request: ResponseRequest, head: ResponseHead, parsed: ParsedInput, run: Run) -> NewResponse:
    prompt = request.body.prompt
    return NewResponse(
        head.key,
        _without_secrets(request),
        request.api,
        model=run.model if request.agent is None else request.body.model,
        settings=head.settings.decode(),
        items=parsed.rows,
        retry=None if request.is_kept else request.retry,
        needs_caller=_needs_caller(request),
        actor=request.actor,
        prompt=(prompt.id, prompt.version) if prompt and prompt.version else None,
    )


def _needs_caller(request: ResponseRequest) -> bool:
    """Tell whether a response needs its caller: data that is not stored, or somebody who reads it."""
    return bool(request.provider_data) or _has_secrets(request) or request.is_kept


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
    if target.shown:
        return paired_history(target.shown, answered_calls)
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
    if request.agent is not None:
        request = replace(request, agent=agent_runs.of_turn(service, request.actor, turn_target) or request.agent)
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
    run = hand_over.continued(service.providers, request.actor, run, next_step)
    messages = [] if target.shown else MESSAGES.validate_json(value.input_messages)
    run = replace(run, resume=resume, input_messages=messages, trace=tracing.parse(value.traceparent))
    loop, head = Loop(run), new_head(request, target.conversation)
    opening = loop.open()
    new_response = _new_response(request, head, parsed, run)
    resumption = Resumption(
        turn_target.key, turn_target.session, turn_target.epoch, opening, next_step, True, new_response
    )
    with service.place(request.actor, turn_target.agent, run, needs_caller=_needs_caller(request)) as place:
        turn_ref = start_turn.resume_turn(resumption, place.owner)
        earlier = partial(_earlier_items, target, turn_target.key, parsed)
        service.run_response(request.actor, loop, turn_ref, opening, earlier, place)
    head = replace(head, created_at=opening[0].at)
    return StartedResponse(head, turn_target.key, opening[0].seq, cancel=_cancel(service, request, turn_ref))


def _earlier_items(target: ResponseTarget, turn: int, parsed: ParsedInput) -> EarlierItems:
    if target.shown:  # the turn's own items among them
        return (_history(target, 0, None, parsed),)
    before, added = earlier_items(turn)
    return paired_history(before), added
