"""The input of a response: where in which session it belongs, and what a model is told of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.loop.run import PendingCall
from agents.record.models.choices import TurnStatus
from agents.record.schemas.chat import call_ids
from agents.record.schemas.content import ToolCall, ToolResponse, TurnMessage, text_of
from agents.record.schemas.events import ToolDetail
from agents.record.schemas.items import input_items
from agents.record.schemas.turns import ItemSnapshot
from agents.record.store import items as stored_items
from agents.record.store import sessions, turns
from agents.record.store.history import NewItem
from agents.record.store.turns import AwaitedCall
from agents.responses.schemas.input_items import (
    ApprovalItem,
    FunctionCallItem,
    FunctionOutputItem,
    items_of_input,
    messages_of,
    stored_json,
)
from agents.responses.schemas.requests import CreateResponse
from agents.responses.store import conversations, responses
from agents.responses.store.responses import ResponseRecord
from agents.responses.wire.items import items_of_row

_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a response continues: in which session (None: a new one), after which leg, and the turn
    that waits there for its client, if one does. ``earlier`` is what a new session begins with: a
    response that leaves its conversation takes along what was said, and adds nothing to it."""

    session: int | None = None
    conversation: str | None = None
    after: ResponseRecord | None = None
    waiting: int | None = None
    earlier: Sequence[NewItem] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A request's input: ``items`` as they came, the messages they are, and the rows they become;
    ``told`` are the items as a model can read them."""

    items: Sequence[Any]
    messages: Sequence[TurnMessage]
    rows: Sequence[NewItem]
    told: Sequence[Any]

    @property
    def outputs(self) -> list[FunctionOutputItem]:
        return [item for item in self.items if isinstance(item, FunctionOutputItem)]

    @property
    def approvals(self) -> list[ApprovalItem]:
        return [item for item in self.items if isinstance(item, ApprovalItem)]


def place_of(actor: Actor, body: CreateResponse) -> Place:
    """Where a request belongs. Raises NotFound; InvalidRequest for a response that still runs."""
    if body.previous_response_id is not None:
        return _after(actor, body.previous_response_id)
    if body.conversation_id is not None:
        return _conversation(actor, body.conversation_id)
    return Place()


def _after(actor: Actor, public_id: str) -> Place:
    record = responses.get(actor, public_id, "run")
    if record.is_live:
        words = f"previous_response_id: Response '{record.public_id}' is still in progress."
        raise InvalidRequest(words, param="previous_response_id", code="response_in_progress")
    waits = record.is_last and record.turn_status == TurnStatus.AWAITING_INPUT
    if record.in_conversation and not waits:
        return Place(earlier=[_copy(row) for row in stored_items.up_to(record).walk()])
    conversation = ids.openai(ids.Kind.SESSION, record.session) if record.in_conversation else None
    return Place(record.session, conversation, record, record.turn if waits else None)


def _copy(row: ItemSnapshot) -> NewItem:
    """What was said in a conversation, for a session that leaves it: under the same ids."""
    return NewItem(ids.new_key(), row.body, msgspec.json.encode(items_of_row(row)))


def _conversation(actor: Actor, public_id: str) -> Place:
    key = conversations.key_of(public_id)
    try:
        record = sessions.get(actor, key, action="run")
    except NotFound:
        raise conversations.not_found(public_id) from None
    sessions.check_here(record.source)
    last = turns.state(record.last_turn) if record.last_turn is not None else None
    waits = last is not None and last[0] == TurnStatus.AWAITING_INPUT
    return Place(key, conversation=public_id, waiting=record.last_turn if waits else None)


# ---------------------------------------------------------------------------------------------- items


def read(given: str | Sequence[Any], readable: Sequence[Any] | None = None) -> Given:
    """A request's input; ``readable`` are its items as a model can read them."""
    items = items_of_input(given)
    told = items if readable is None else readable
    messages = [message for item in told for message in messages_of(item)]
    return Given(items, messages, [row_of(item, shown) for item, shown in zip(items, told, strict=True)], told)


def row_of(item: Any, told: Any = None) -> NewItem:
    """The row of an item. An id the client gave is kept only where it is none of ours: ours name
    rows."""
    key = ids.new_key()
    item_id = ids.part(_PREFIXES.get(item.type, "item"), ids.Kind.ITEM, key)
    body = b",".join(input_items(messages_of(told or item)))
    return NewItem(key, body, stored_json(item, item_id))


@dataclass(frozen=True, slots=True)
class Answers:
    """What the input answers of a turn that waits: the calls, with the client's word on those it was to
    approve, and the answers; ``rest`` is what it says beside them."""

    pending: Sequence[PendingCall]
    responses: Sequence[ToolResponse]
    rest: Given


def answers(given: Given, pending: Sequence[AwaitedCall], *, required: bool) -> Answers | None:
    """The answers to what a turn waits for; None where the input has none and none is ``required``.
    Raises InvalidRequest, in OpenAI's words, when some are missing."""
    outputs = {item.call_id: item for item in given.told if isinstance(item, FunctionOutputItem)}
    words = {item.approval_request_id: item for item in given.approvals}
    calls = [_pending(one, words) for one in pending]
    absent = [one.call for one in calls if one.approved is None and one.call.call_id not in outputs]
    if not calls or (len(absent) == len(calls) and not required):
        return None  # nothing waits any more: someone else was faster
    if absent:
        text = f"No tool output found for function call {absent[0].call_id}."
        raise InvalidRequest(text, param="input", code="missing_tool_output")
    responses = [_response(one, outputs, words) for one in calls if not one.approved]
    made, asked = {one.call.call_id for one in calls}, {_request_id(one.step) for one in calls}
    rest = [place for place, item in enumerate(given.items) if not _answers(item, made, asked)]
    return Answers(calls, responses, read([given.items[at] for at in rest], [given.told[at] for at in rest]))


def _pending(one: AwaitedCall, words: dict[str, ApprovalItem]) -> PendingCall:
    call, detail = ToolCall.model_validate_json(one.call), ToolDetail.model_validate_json(one.detail)
    word = words.get(_request_id(one.step)) if one.needs_approval else None
    return PendingCall(one.step, call, one.started_at, word.approve if word else None, detail)


def _request_id(step: int) -> str:
    return ids.part("mcpr", ids.Kind.STEP, step)


def _response(one: PendingCall, outputs: dict[str, FunctionOutputItem], words: dict[str, ApprovalItem]) -> ToolResponse:
    if one.approved is None:
        [message] = messages_of(outputs[one.call.call_id])
        text = text_of(message.content)
    else:
        why = words[_request_id(one.step)].reason
        text = f"The user did not approve this call: {why}" if why else "The user did not approve this call."
    return ToolResponse(call_id=one.call.call_id, tool_name=one.call.tool_name, content=text)


def _answers(item: Any, calls: Collection[str], requests: Collection[str]) -> bool:
    """Whether an item is an answer to one of these calls, or to one of these requests to approve one."""
    if isinstance(item, ApprovalItem):
        return item.approval_request_id in requests
    return isinstance(item, FunctionOutputItem) and item.call_id in calls


def check_outputs(given: Given, history: Sequence[bytes]) -> None:
    """Raises InvalidRequest, in OpenAI's words, for an output whose call was never made."""
    made = {item.call_id for item in given.items if isinstance(item, FunctionCallItem)}
    earlier = [item.call_id for item in given.outputs if item.call_id not in made]
    known = call_ids(history) if earlier else ()
    unknown = [call_id for call_id in earlier if call_id not in known]
    if unknown:
        words = f"No tool call found for function call output with call_id {unknown[0]}."
        raise InvalidRequest(words, param="input", code="unknown_call_id")
