"""Finds the turn that a request continues without naming it.

Clients that keep the history themselves send all of it again with each request. If the input begins with exactly
the messages of a stored turn, the request continues that turn, or its session, so that the log shows one
conversation instead of one per request. The turn is found by the last item in the input that a model made, or, where
clients give items ids of their own, by the name that they have for the conversation.

A client that has let its history be summed up sends what it has kept of it, and the summary. In the log that goes on in
the same session, if all from the summary on is as it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.record.models.choices import Api, TurnStatus
from agents.record.schemas.compaction import from_summary, of_people
from agents.record.schemas.items import joined_calls
from agents.record.store import history, turns
from agents.record.store.history import NewItem
from agents.responses.runner.input import ParsedInput, ResponseTarget, approval_request_id, parse_input
from agents.responses.schemas.input_items import (
    ApprovalRequestItem,
    ClientCallItem,
    CompactionItem,
    FunctionCallItem,
    OtherItem,
)
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord

OUTPUT_OF_MODEL = (FunctionCallItem, ClientCallItem, ApprovalRequestItem, OtherItem)
"""Types of items in a response that stand beside a call to approve."""
THREAD = "thread"
"""Key in the metadata of turns: the name that a client has for the conversation."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A whole history as it was sent: its messages up to the last item that a model made, and what is new after it."""

    item: Any
    messages: Sequence[bytes]
    new: ParsedInput

    @property
    def is_summed_up(self) -> bool:
        return len(from_summary(self.messages)) < len(self.messages)


def find_continuation(actor: Actor, parsed: ParsedInput) -> tuple[ResponseTarget, ParsedInput] | None:
    """Return the target of a request that names none, and the new part of its input; None if it continues
    nothing."""
    if parsed.approvals and (awaited := _find_awaiting_approval(actor, parsed)) is not None:
        return awaited
    sent = _sent(parsed)
    if sent is None or not sent.new.items:
        return None
    record = _of_item(actor, sent.item, Api.RESPONSES)
    if record is None or record.is_live or joined_calls(sent.messages) != joined_calls(history.up_to(record.key)):
        return None
    return target_after(record), sent.new


def _find_awaiting_approval(actor: Actor, parsed: ParsedInput) -> tuple[ResponseTarget, ParsedInput] | None:
    """Return the target of a request that sends calls to approve again, with what its user says to them. Each call has
    the id of its step, and so names the turn that waits. Of the history only what people said is compared: of what the
    server's tools gave the model, clients do not get all."""
    answered = {item.approval_request_id for item in parsed.approvals}
    for position, item in enumerate(parsed.items):
        if not isinstance(item, ApprovalRequestItem) or item.id not in answered:
            continue
        record = _of_item(actor, item, Api.RESPONSES)
        if record is None or item.id not in _awaited_requests(record):
            continue
        sent = history.messages(row.body for row in parsed.rows[:position])
        if of_people(sent) != of_people(history.up_to(record.key)):
            return None
        new = [at for at in range(position + 1, len(parsed.items)) if not isinstance(parsed.items[at], OUTPUT_OF_MODEL)]
        return target_after(record), parse_input([parsed.items[at] for at in new], [parsed.readable[at] for at in new])
    return None


def _awaited_requests(record: ResponseRecord) -> list[str]:
    """List the ids of the requests for approval that the turn of a response waits for."""
    if record.is_live or record.turn_status != TurnStatus.AWAITING_INPUT:
        return []
    return [approval_request_id(call.step) for call in turns.pending_calls(record.turn) if call.needs_approval]


def find_unstored(
    actor: Actor, parsed: ParsedInput, *, earlier: Sequence[NewItem], thread: str
) -> tuple[ResponseTarget, ParsedInput] | None:
    """Do the same among what is not to be stored, for input after the items ``earlier`` of a client that has
    ``thread`` as its name for the conversation."""
    sent = _sent(parsed, earlier)
    if sent is None or not (sent.new.items or isinstance(sent.item, CompactionItem)):
        return None
    record = _of_item(actor, sent.item, Api.UNSTORED)
    if record is None and thread:
        record = responses.last_unstored(actor, f"{THREAD}={thread}")
    if record is None or record.is_live:
        return None
    stored = history.up_to(record.key)
    if joined_calls(from_summary(sent.messages)) != joined_calls(from_summary(stored)):
        return None
    shown = sent.messages if sent.is_summed_up else ()
    return replace(target_after(record), shown=shown), sent.new


def target_after(record: ResponseRecord) -> ResponseTarget:
    """Return the target of a request that goes on from a response."""
    waits = record.turn_status == TurnStatus.AWAITING_INPUT
    return ResponseTarget(record.session, after=record, waiting_turn=record.turn if waits else None)


def _sent(parsed: ParsedInput, earlier: Sequence[NewItem] = ()) -> _Sent | None:
    """Return a history after the items ``earlier``; None where no model has made any of its items."""
    for position in range(len(parsed.items) - 1, -1, -1):
        if _is_output(parsed.items[position]):
            rows = [*earlier, *parsed.rows[: position + 1]]
            new = parse_input(parsed.items[position + 1 :], parsed.readable[position + 1 :])
            return _Sent(parsed.items[position], history.messages(row.body for row in rows), new)
    return None


def _is_output(item: Any) -> bool:
    """Whether a model has made an item: a message, a call or a summary."""
    is_message = getattr(item, "role", "") == "assistant"
    return is_message or isinstance(item, FunctionCallItem | ClientCallItem | CompactionItem)


def _of_item(actor: Actor, item: Any, api: Api) -> ResponseRecord | None:
    """Return the response that an item is of, going by its id."""
    step = ids.parse_part(ids.Kind.STEP, item.id) if item.id else None
    return None if step is None else responses.of_step(actor, step, api)
