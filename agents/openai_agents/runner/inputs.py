"""Takes input events: messages that begin a turn or join the one that runs, answers to calls, cancellation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.base.reading import read
from agents.loop.current_service import service
from agents.loop.images import check_images
from agents.loop.schemas.turns import CreateTurn
from agents.loop.sent_request import SentRequest
from agents.loop.service import Answers
from agents.openai_agents.runner.configs import unavailable
from agents.openai_agents.runner.sessions import agent_for_turn, content_of, messages_of
from agents.openai_agents.schemas.sessions import (
    CancelEvent,
    ComputerApprovalEvent,
    McpApprovalEvent,
    MessageEvent,
    ToolResultEvent,
)
from agents.openai_agents.store import sessions
from agents.openai_agents.store.sessions import StoredSession, TurnPlace
from agents.openai_agents.wire.items import NOT_APPROVED, SAID, step_item_id
from agents.record import live
from agents.record.models.choices import TurnStatus
from agents.record.schemas.content import Content, ToolResponse, TurnMessage, UserMessage
from agents.record.store import inputs, read_turns, turns
from agents.record.store import sessions as session_store
from agents.record.store.inputs import NewInput, Repeated, TurnOver
from agents.record.store.turns import AwaitedCall

MAX_TRIES = 20
"""How often a message is offered to turns that end, or begin, meanwhile."""
JSON = dict[str, Any]


AnswerEvent = ToolResultEvent | McpApprovalEvent


@dataclass(slots=True)
class _Batch:
    """Input between two cancellations: messages, and answers to calls."""

    messages: list[UserMessage] = field(default_factory=list)
    answers: list[AnswerEvent] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.messages or self.answers)


async def take(actor: Actor, row: StoredSession, events: Sequence[Any], sent: SentRequest) -> None:
    """Take the events of one request, in order. Raises InvalidRequest, and Conflict for a key that was used for
    another request."""
    batches = _batches(events)
    for position, batch in enumerate(batches):
        if position:
            await _cancel(actor, row)
        if batch:
            # what follows a cancellation is not found again by the request's key, which the first part has
            await read(_deliver, actor, row, batch, replace(sent, retry=sent.retry if position == 0 else None))


def _batches(events: Sequence[Any]) -> list[_Batch]:
    batches = [_Batch()]
    for event in events:
        match event:
            case CancelEvent():
                batches.append(_Batch())
            case MessageEvent():
                batches[-1].messages += messages_of(event.input)
            case ComputerApprovalEvent():
                raise unavailable("events.type", "use of a computer")
            case _:
                batches[-1].answers.append(event)
    return batches


# ----------------------------------------------------------------------------------------------- cancel


async def _cancel(actor: Actor, row: StoredSession) -> None:
    """Cancel the session's turn, if one runs or waits, and wait for its end: what follows begins another."""
    place = await read(sessions.newest_turn, row.key)
    if place is None or place.is_over:
        return
    stopped = await read(service().cancel_turn, actor, place.key)
    async for _ in live.follow(stopped.turn, until_response=stopped.first_seq):
        pass


# --------------------------------------------------------------------------------------------- delivery


def deliver(actor: Actor, row: StoredSession, messages: Sequence[UserMessage], sent: SentRequest) -> None:
    """Hand messages to the turn of a session that runs or waits, or begin one with them. Raises as `take`. Blocking."""
    _deliver(actor, row, _Batch(list(messages)), sent)


def _deliver(actor: Actor, row: StoredSession, batch: _Batch, sent: SentRequest) -> None:
    """Hand input to the turn that runs or waits, or begin one with it."""
    check_images(batch.messages)
    session_store.check_here(row.source)
    for _ in range(MAX_TRIES):
        try:
            if _was_taken(actor, row, sent) or _try_to_deliver(actor, row, batch, sent):
                return
        except InvalidRequest as error:
            if error.code == "idempotency_mismatch":
                raise Conflict(error.message, code="conflict_error", param=error.param) from None
            raise
    raise Conflict("The session's turns begin and end too quickly; try again.", code="conflict_error")


def _was_taken(actor: Actor, row: StoredSession, sent: SentRequest) -> bool:
    """Tell whether an earlier request with the same key was taken; what it left to be done is done."""
    if sent.retry is None:
        return False
    if sent.first_run() is not None:
        return True
    if not inputs.was_stored(sent.retry):
        return False
    _go_on(actor, row, sent)
    return True


def _try_to_deliver(actor: Actor, row: StoredSession, batch: _Batch, sent: SentRequest) -> bool:
    """Returns False where the session's turn has ended, or another has begun, since it was looked at."""
    place = sessions.newest_turn(row.key)
    answers = _new_answers(actor, row, batch.answers)
    if place is None or place.is_over:
        return _start(actor, row, place, batch.messages, sent) if batch.messages else True
    agent_for_turn(actor, row)  # what comes too late for this turn begins one of its own
    new = [*answers, *(NewInput(inputs.message_json(message)) for message in batch.messages)]
    try:
        if new:
            inputs.add(actor, place.key, new, sent.retry)
    except Repeated:
        return True
    except TurnOver:
        return False
    _go_on(actor, row, sent)
    return True


def start(actor: Actor, row: StoredSession, messages: Sequence[TurnMessage], sent: SentRequest) -> int:
    """Begin the first turn of a session; returns its key."""
    body = CreateTurn.model_validate({"messages": []}).model_copy(update={"messages": list(messages)})
    sent = replace(sent, fails_over_budget=True)  # clients are told of that by the events of their session
    return service().start_turn(actor, agent_for_turn(actor, row), row.key, body, sent).turn


def _start(
    actor: Actor, row: StoredSession, last: TurnPlace | None, messages: Sequence[UserMessage], sent: SentRequest
) -> bool:
    """Begin a turn with messages, after those that came too late for the ``last`` one."""
    left = inputs.messages_of(last.key) if last is not None else []
    try:
        start(actor, row, [*(one.message for one in left), *messages], replace(sent, inputs=[one.key for one in left]))
    except Conflict as conflict:
        if conflict.code not in ("conversation_locked", "input_taken"):
            raise
        return False  # another turn has begun: they join it
    return True


# --------------------------------------------------------------------------------------------- answers


def _new_answers(actor: Actor, row: StoredSession, events: Sequence[AnswerEvent]) -> list[NewInput]:
    """Return the answers that are new. Raises InvalidRequest for a call that is not pending, Conflict where it has
    another answer."""
    if not events:
        return []
    place = sessions.newest_turn(row.key)
    pending = turns.pending_calls(place.key) if place is not None and not place.is_over else []
    stored = inputs.answers_of(place.key) if place is not None else {}
    by_name = {_name_of(call): call for call in pending}
    new: dict[int, NewInput] = {}
    for event in events:
        name = event.call_id if isinstance(event, ToolResultEvent) else event.request_id
        call = by_name.get(name)
        if call is None or not _is_of_turn(event, place.key if place else None):
            _check_answered(actor, place.key if place else None, event, name)
            continue
        body = msgspec.json.encode(_answer(call, event)).decode()
        if (earlier := stored.get(call.step) or (new[call.step].body if call.step in new else None)) is None:
            new[call.step] = NewInput(body, call.step)
        elif msgspec.json.decode(earlier) != msgspec.json.decode(body):
            raise _answered_otherwise(name)
    return list(new.values())


def _is_of_turn(event: AnswerEvent, turn: int | None) -> bool:
    return not isinstance(event, ToolResultEvent) or ids.parse_spelled(ids.Kind.TURN, event.turn_id) == turn


def _name_of(call: AwaitedCall) -> str:
    """Return what a client answers by: the id of the request for approval, or of the call."""
    if call.needs_approval:
        return step_item_id("mcpr", call.step)
    return str(msgspec.json.decode(call.call)["call_id"])


def _check_answered(actor: Actor, turn: int | None, event: AnswerEvent, name: str) -> None:
    """Raise InvalidRequest, in the words that OpenAI's client waits for, for a call that nobody has made; Conflict
    where it was answered otherwise."""
    for step in read_turns.turn(actor, turn, "run").steps if turn is not None else ():
        if step.type != "tool_execution" or step.server_side:
            continue
        detail = msgspec.json.decode(step.detail or b"{}")
        calls = detail.get("tool_calls") or [{}]
        is_named = step_item_id("mcpr", step.key) == name if detail.get("approval") else calls[0].get("call_id") == name
        if is_named and step.completed_at is not None:
            if _stands(detail, event):
                return
            raise _answered_otherwise(name)
    kind = "tool call" if isinstance(event, ToolResultEvent) else "approval request"
    raise InvalidRequest(f"Unknown pending {kind}: {name[:200]}", code="invalid_request_error")


def _stands(detail: JSON, event: AnswerEvent) -> bool:
    """Tell whether a call's answer is the one that comes again."""
    if isinstance(event, McpApprovalEvent):
        approved = event.response.decision == "approve"
        return bool(detail.get("approval") == ("approved" if approved else "refused"))
    answers = detail.get("tool_responses") or [{}]
    return bool((answers[0].get("metadata") or {}).get(SAID) == _said(event))


def _answered_otherwise(name: str) -> Conflict:
    return Conflict(f"'{name[:200]}' has another answer already.", code="conflict_error")


def _said(event: ToolResultEvent) -> JSON:
    return event.model_dump(mode="json", include={"success", "output", "error"}, exclude_none=True)


def _answer(call: AwaitedCall, event: AnswerEvent) -> JSON:
    """Return an answer as it is kept until all calls have one: a decision, or a response."""
    made = msgspec.json.decode(call.call)
    if isinstance(event, McpApprovalEvent):
        approved = event.response.decision == "approve"
        return {"call_id": made["call_id"], "tool_name": made["tool_name"], "approved": approved}
    response = ToolResponse(
        call_id=made["call_id"], tool_name=made["tool_name"], content=_content(event), metadata={SAID: _said(event)}
    )
    return {"response": response.model_dump(mode="json", exclude_none=True)}


def _content(event: ToolResultEvent) -> Content:
    """Return what the model is told."""
    output: Content = event.output if isinstance(event.output, str) else content_of(event.output or ())
    if event.success:
        return output or ""
    failure = f"The call failed: {event.error}" if event.error else "The call failed."
    return f"{failure}\n{output}" if isinstance(output, str) and output else failure


def _go_on(actor: Actor, row: StoredSession, sent: SentRequest) -> None:
    """Continue the session's turn, if it waits and all its calls are answered."""
    place = sessions.newest_turn(row.key)
    if place is None or place.is_over:
        return
    target = turns.target(actor, place.key, action="run")
    pending, stored = turns.pending_calls(target.key), inputs.answers_of(target.key)
    if target.status != TurnStatus.AWAITING_INPUT or any(call.step not in stored for call in pending) or not pending:
        return
    kept = [msgspec.json.decode(stored[call.step]) for call in pending]
    approved = {answer["call_id"]: answer["approved"] for answer in kept if "approved" in answer}
    refusals = [
        ToolResponse(call_id=answer["call_id"], tool_name=answer["tool_name"], content=NOT_APPROVED)
        for answer in kept
        if answer.get("approved") is False
    ]
    responses = [ToolResponse.model_validate(answer["response"]) for answer in kept if "response" in answer]
    answers = Answers([*responses, *refusals], approved)
    try:
        service().answer_calls(actor, target, service().config_of(actor, target), answers, SentRequest(sent.raw))
    except Conflict as conflict:  # who answered the last of the others was faster
        if conflict.code not in ("resume_lost", "conversation_locked", "turn_not_waiting"):
            raise
