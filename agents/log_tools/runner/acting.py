"""The tools that act: run an agent, answer the calls a turn waits for, decide about those in doubt, cancel a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.reading import read
from agents.log_tools.runner import reading
from agents.log_tools.schemas.arguments import (
    AnswerArguments,
    CallAnswer,
    CancelArguments,
    DecideArguments,
    ReadTurnArguments,
    RunArguments,
)
from agents.loop import agent_names
from agents.loop.current_service import service
from agents.loop.schemas.turns import CreateTurn, ResumeTurn
from agents.loop.sent_request import SentRequest
from agents.loop.service import Started
from agents.pages import response_requests
from agents.record import live
from agents.record.schemas.content import ToolCall, ToolResponse, UserMessage
from agents.record.schemas.events import LAST_ORDINAL
from agents.record.store import agents, decisions, retries, sessions, start_turn, turns
from agents.record.store.decisions import Decision
from agents.record.store.retries import Retry
from agents.record.store.sessions import NewSession
from agents.record.store.turns import AwaitedCall, TurnTarget


async def run_agent(actor: Actor, sent: RunArguments) -> str:
    """Start a turn, and return it as it is when it has ended, or after the time to wait. Raises NotFound,
    InvalidRequest, Conflict, RateLimited, Unavailable."""
    started = await read(_start, actor, sent)
    await _ended(started, sent.wait_seconds)
    return await read(reading.turn_text, actor, started.turn, sent.max_chars)


def _start(actor: Actor, sent: RunArguments) -> Started:
    retry = _retry(actor, sent)
    if retry is not None and (earlier := _first_run(retry)) is not None:
        return service().attach(actor, *earlier)
    agent = agent_names.find(actor, sent.agent)
    agents.check_enabled(agent)
    new_session = None
    if sent.session_id:
        session = sessions.get(actor, sessions.key_of(sent.session_id), agent=agent.key, action="run").key
    else:
        session = ids.new_key()
        new_session = NewSession(session, agent.key, sessions.name_of(sent.message))
    body = CreateTurn(messages=[UserMessage(content=sent.message)], stream=True)
    request = SentRequest(retry=retry, new_session=new_session)
    return service().start_turn(actor, agent, session, body, request)


def _retry(actor: Actor, sent: RunArguments) -> Retry | None:
    """Return how a run with a key is found again: what it is to do must be the same, how long to wait need not."""
    if not sent.idempotency_key:
        return None
    request = msgspec.json.encode([sent.agent, sent.session_id, sent.message])
    return retries.read(actor, "run_agent", request, sent.idempotency_key, None)


def _first_run(retry: Retry) -> tuple[int, int] | None:
    try:
        return retries.first_run(retry)
    except InvalidRequest as error:
        message = "idempotency_key: this key was used for another message, agent or session."
        raise InvalidRequest(message, param="idempotency_key", code=error.code) from None


async def read_turn(actor: Actor, sent: ReadTurnArguments) -> str:
    """Read a turn, once it has ended or the time to wait is over. Raises NotFound."""
    if sent.wait_seconds:
        target = await read(turns.target, actor, turns.key_of(sent.turn_id))
        if target.is_live:
            first = await read(turns.response_start, target.key, target.response_count)
            await _ended(Started(target.key, target.session, first), sent.wait_seconds)
    return await read(reading.read_turn, actor, sent)


async def _ended(started: Started, seconds: int) -> None:
    """Wait until a response of a turn has ended, or the time is over."""
    after = (started.first_seq - 1, LAST_ORDINAL)
    with suppress(TimeoutError):  # the caller reads on
        async with asyncio.timeout(seconds):
            async for _ in live.follow(started.turn, after, until_response=started.first_seq):
                pass


async def cancel_turn(actor: Actor, sent: CancelArguments) -> str:
    """Stop a turn that runs or waits. Raises NotFound, Conflict, Unavailable."""
    stopped = await read(lambda: service().cancel_turn(actor, turns.key_of(sent.turn_id)))
    await _ended(stopped, seconds=10)
    return await read(reading.turn_text, actor, stopped.turn, sent.max_chars)


# --------------------------------------------------------------------------------------------- decisions


async def decide_calls(actor: Actor, sent: DecideArguments) -> str:
    """Decide what became of calls whose process was lost, and wait for what comes of it. Raises NotFound, Conflict."""
    await read(_decide, actor, sent)
    return await read_turn(
        actor, ReadTurnArguments(turn_id=sent.turn_id, wait_seconds=sent.wait_seconds, max_chars=sent.max_chars)
    )


def _decide(actor: Actor, sent: DecideArguments) -> None:
    decided = [Decision(_step(call.step_id), call.outcome, call.content) for call in sent.decisions]
    decisions.decide(actor, turns.key_of(sent.turn_id), decided)


def _step(public_id: str) -> int:
    step = ids.parse(ids.Kind.STEP, public_id)
    if step is None:
        raise NotFound(f"Step '{public_id[:80]}' not found.")
    return step


# ----------------------------------------------------------------------------------------------- answers


async def answer_calls(actor: Actor, sent: AnswerArguments) -> str:
    """Answer the calls a turn waits for, and wait for what comes of it. Raises NotFound, InvalidRequest, Conflict."""
    turn = await read(_answer, actor, sent)
    await read_turn(actor, ReadTurnArguments(turn_id=sent.turn_id, wait_seconds=sent.wait_seconds))
    return await read(reading.turn_text, actor, turn, sent.max_chars)


def _answer(actor: Actor, sent: AnswerArguments) -> int:
    target = turns.target(actor, turns.key_of(sent.turn_id), action="run")
    pending = turns.pending_calls(target.key)
    if not pending:
        raise InvalidRequest("This turn waits for no answer.", param="turn_id", code="turn_not_waiting")
    start_turn.check_unmoved(target.key, target.next_seq)
    calls = {ToolCall.model_validate_json(awaited.call).call_id: awaited for awaited in pending}
    _check(calls, sent.answers)
    if response_requests.is_of_responses(actor, target):
        return _answer_response(actor, target, calls, sent.answers)
    responses = [_tool_response(calls[answer.call_id], answer) for answer in sent.answers]
    service().resume_turn(actor, target, service().config_of(actor, target), ResumeTurn(tool_responses=responses))
    return target.key


def _check(calls: Mapping[str, AwaitedCall], answers: Sequence[CallAnswer]) -> None:
    """Raise InvalidRequest unless these are answers of the right kind to all the calls."""
    turns.check_answers(list(calls), [ToolResponse(call_id=each.call_id, tool_name="", content="") for each in answers])
    for answer in answers:
        needs_approval = calls[answer.call_id].needs_approval
        if needs_approval and answer.approve is None:
            raise InvalidRequest(f"answers: call '{answer.call_id}' waits for approval: say approve.", param="answers")
        if not needs_approval and answer.content is None:
            raise InvalidRequest(f"answers: call '{answer.call_id}' needs content, its result.", param="answers")


def _tool_response(awaited: AwaitedCall, answer: CallAnswer) -> ToolResponse:
    call = ToolCall.model_validate_json(awaited.call)
    return ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=answer.content or "")


def _answer_response(
    actor: Actor, target: TurnTarget, calls: Mapping[str, AwaitedCall], answers: Sequence[CallAnswer]
) -> int:
    """Go on with a turn of the Responses API."""
    items = [_answer_item(calls[answer.call_id], answer) for answer in answers]
    last = response_requests.last_response(actor, target.key)
    response_requests.start_response(actor, response_requests.follow_up(last, items))
    return target.key


def _answer_item(awaited: AwaitedCall, answer: CallAnswer) -> response_requests.JSON:
    if awaited.needs_approval:
        return response_requests.approval(awaited, approve=bool(answer.approve), reason=answer.reason)
    return response_requests.call_output(ToolCall.model_validate_json(awaited.call), answer.content or "")
