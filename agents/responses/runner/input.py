"""Parses the input of a response, and finds the session and turn that it continues."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop.run import PendingCall
from agents.record.models.choices import Api, TurnStatus
from agents.record.schemas.chat import call_ids
from agents.record.schemas.content import Content, ToolCall, ToolResponse, TurnMessage, text_of
from agents.record.schemas.events import ToolDetail
from agents.record.schemas.items import input_items
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store import items as stored_items
from agents.record.store import sessions, turns
from agents.record.store.history import NewItem
from agents.record.store.turns import AwaitedCall
from agents.responses.runner import approvals
from agents.responses.schemas.client_calls import FORMS, OUTPUT_KEY
from agents.responses.schemas.input_items import (
    ApprovalItem,
    ClientCallItem,
    ClientOutputItem,
    FunctionCallItem,
    FunctionOutputItem,
    items_of_input,
    stored_json,
)
from agents.responses.schemas.messages import messages_of, refusal
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import conversations, responses
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.items import items_of_row

_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"} | {
    form.item_type: form.id_prefix for form in FORMS.values()
}

OUTPUT_ITEMS = (FunctionOutputItem, ClientOutputItem)
"""Types of items that answer calls."""


@dataclass(frozen=True, slots=True)
class ResponseTarget:
    """The target of a response: its session (None: a new one), the response it continues, and the turn that
    waits for its client there, if any. ``earlier`` are the first items of a new session: a response that
    leaves its conversation copies the conversation's items, and adds nothing to it. ``shown`` is the history that the
    model is shown where that is not its session's: a client that has let its own be summed up chooses what stays."""

    session: int | None = None
    conversation: str | None = None
    after: ResponseRecord | None = None
    waiting_turn: int | None = None
    earlier: Sequence[NewItem] = ()
    shown: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class ParsedInput:
    """A request's input: ``items`` as received, their messages and rows; ``readable`` are the items with
    files replaced for the model."""

    items: Sequence[Any]
    messages: Sequence[TurnMessage]
    rows: Sequence[NewItem]
    readable: Sequence[Any]

    @property
    def outputs(self) -> list[FunctionOutputItem | ClientOutputItem]:
        return [item for item in self.items if isinstance(item, OUTPUT_ITEMS)]

    @property
    def approvals(self) -> list[ApprovalItem]:
        return [item for item in self.items if isinstance(item, ApprovalItem)]


def target_of(actor: Actor, body: CreateResponse) -> ResponseTarget:
    """Return the target that a request names. Raises NotFound; InvalidRequest for a response that still runs."""
    if body.previous_response_id is not None:
        return _target_after(actor, body.previous_response_id)
    if body.conversation_id is not None:
        return _conversation_target(actor, body.conversation_id)
    return ResponseTarget()


def _target_after(actor: Actor, public_id: str) -> ResponseTarget:
    record = responses.get(actor, public_id, "run")
    if record.is_live:
        message = f"previous_response_id: Response '{record.public_id}' is still in progress."
        raise InvalidRequest(message, param="previous_response_id", code="response_in_progress")
    waits = record.is_last and record.turn_status == TurnStatus.AWAITING_INPUT
    if record.in_conversation and not waits:
        return ResponseTarget(earlier=copied_items(record))
    conversation = ids.openai(ids.Kind.SESSION, record.session) if record.in_conversation else None
    return ResponseTarget(record.session, conversation, record, record.turn if waits else None)


def copied_items(record: ResponseRecord) -> list[NewItem]:
    """Copy the items up to the end of a response for another session, with the same ids."""
    return copies(stored_items.up_to(record).walk())


def copies(rows: Iterable[ItemSnapshot]) -> list[NewItem]:
    """Copy items for another session, with the same ids."""
    return [_copied_item(row) for row in rows]


def _copied_item(row: ItemSnapshot) -> NewItem:
    return NewItem(ids.new_key(), row.body, msgspec.json.encode(items_of_row(row)))


def _conversation_target(actor: Actor, public_id: str) -> ResponseTarget:
    key = conversations.key_of(public_id)
    try:
        record = sessions.get(actor, key, action="run")
    except NotFound:
        raise conversations.not_found(public_id) from None
    if record.api == Api.UNSTORED:
        raise conversations.not_found(public_id)
    sessions.check_here(record.source)
    last = turns.state(record.last_turn) if record.last_turn is not None else None
    waits = last is not None and last[0] == TurnStatus.AWAITING_INPUT
    return ResponseTarget(key, conversation=public_id, waiting_turn=record.last_turn if waits else None)


# ---------------------------------------------------------------------------------------------- items


def parse_input(value: str | Sequence[Any], readable: Sequence[Any] | None = None) -> ParsedInput:
    """Parse a request's input; ``readable`` are its items with files replaced for the model."""
    items = approvals.with_decisions(_with_call_ids(items_of_input(value)))
    readable_items = items if readable is None else approvals.with_decisions(readable)
    messages = [message for item in readable_items for message in messages_of(item)]
    return ParsedInput(
        items,
        messages,
        [row_of(item, readable_item) for item, readable_item in zip(items, readable_items, strict=True)],
        readable_items,
    )


def _with_call_ids(items: Sequence[Any]) -> list[Any]:
    """Let outputs that name the item of a call name the call."""
    calls = {item.id: item.called for item in items if isinstance(item, ClientCallItem) and item.id}
    return [
        item.model_copy(update={"call_id": calls[item.id]})
        if isinstance(item, ClientOutputItem) and item.call_id is None and item.id in calls
        else item
        for item in items
    ]


def row_of(item: Any, readable: Any = None) -> NewItem:
    """Return the row of an item. It gets an id of this server, which is derived from the row's key."""
    key = ids.new_key()
    item_id = ids.part(_PREFIXES.get(item.type, "item"), ids.Kind.ITEM, key)
    body = b",".join(input_items(messages_of(readable or item)))
    return NewItem(key, body, stored_json(item, item_id))


@dataclass(frozen=True, slots=True)
class ClientAnswers:
    """The answers in the input to a waiting turn: its calls, with the client's decisions on those it had to
    approve, and the answers; ``other_input`` is the rest of the input."""

    pending: Sequence[PendingCall]
    responses: Sequence[ToolResponse]
    other_input: ParsedInput


def client_answers(parsed: ParsedInput, awaited: Sequence[AwaitedCall], *, required: bool) -> ClientAnswers | None:
    """Return the answers to the calls of a waiting turn; None where the input has none and none is ``required``.
    Raises InvalidRequest, with OpenAI's message, if some are missing."""
    outputs = {item.called: item for item in parsed.readable if isinstance(item, FunctionOutputItem | ClientOutputItem)}
    for call in awaited:  # OpenAI's client names a call of its shell by the item
        if (by_item := outputs.get(ids.part("lsh", ids.Kind.STEP, call.step))) is not None:
            outputs[ToolCall.model_validate_json(call.call).call_id] = by_item
    decisions = {item.approval_request_id: item for item in parsed.approvals}
    calls = [_pending(call, decisions) for call in awaited]
    absent = [pending.call for pending in calls if pending.approved is None and pending.call.call_id not in outputs]
    if not calls or (len(absent) == len(calls) and not required):
        return None  # nothing waits any more: another request was faster
    if absent:
        message = f"No tool output found for function call {absent[0].call_id}."
        raise InvalidRequest(message, param="input", code="missing_tool_output")
    responses = [_tool_response(pending, outputs, decisions) for pending in calls if not pending.approved]
    call_ids = {pending.call.call_id for pending in calls}
    call_ids |= {ids.part("lsh", ids.Kind.STEP, pending.step) for pending in calls}
    request_ids = {approval_request_id(pending.step) for pending in calls}
    other_positions = [
        position for position, item in enumerate(parsed.items) if not _is_answer(item, call_ids, request_ids)
    ]
    return ClientAnswers(
        calls,
        responses,
        parse_input([parsed.items[at] for at in other_positions], [parsed.readable[at] for at in other_positions]),
    )


def _pending(awaited: AwaitedCall, decisions: dict[str, ApprovalItem]) -> PendingCall:
    call, detail = ToolCall.model_validate_json(awaited.call), ToolDetail.model_validate_json(awaited.detail)
    approval = decisions.get(approval_request_id(awaited.step)) if awaited.needs_approval else None
    return PendingCall(awaited.step, call, awaited.started_at, approval.approve if approval else None, detail)


def approval_request_id(step: int) -> str:
    """Return the id of the item that asks a client to approve the call of a step."""
    return ids.part("mcpr", ids.Kind.STEP, step)


def _tool_response(
    pending: PendingCall,
    outputs: dict[str, FunctionOutputItem | ClientOutputItem],
    decisions: dict[str, ApprovalItem],
) -> ToolResponse:
    if pending.approved is None:
        output = outputs[pending.call.call_id]
        [message] = messages_of(output)
        if isinstance(output, ClientOutputItem):
            said = output.model_dump(exclude_none=True, exclude={"id", "call_id"})
            return _response(pending, message.content, {OUTPUT_KEY: said})
        text = text_of(message.content)
    else:
        text = refusal(decisions[approval_request_id(pending.step)].reason)
    return _response(pending, text)


def _response(pending: PendingCall, content: Content, metadata: dict[str, Any] | None = None) -> ToolResponse:
    call = pending.call
    return ToolResponse(call_id=call.call_id, tool_name=call.tool_name, content=content, metadata=metadata)


def _is_answer(item: Any, calls: Collection[str], requests: Collection[str]) -> bool:
    """Whether an item answers one of these calls, or one of these requests for approval."""
    if isinstance(item, ApprovalItem):
        return item.approval_request_id in requests
    return isinstance(item, OUTPUT_ITEMS) and item.called in calls


def check_outputs(parsed: ParsedInput, history: Sequence[bytes]) -> None:
    """Raise InvalidRequest, with OpenAI's message, for an output whose call was never made."""
    input_call_ids = {item.called for item in parsed.items if isinstance(item, FunctionCallItem | ClientCallItem)}
    earlier_call_ids = [item.called for item in parsed.outputs if item.called not in input_call_ids]
    called_ids = call_ids(history) if earlier_call_ids else ()
    unknown = [call_id for call_id in earlier_call_ids if call_id not in called_ids]
    if unknown:
        message = f"No tool call found for function call output with call_id {unknown[0]}."
        raise InvalidRequest(message, param="input", code="unknown_call_id")
