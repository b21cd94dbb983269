"""Finds the turn that a request continues without naming it.

Clients that keep the history themselves send all of it again with each request. If the input begins with exactly
the messages of a stored turn, the request continues that turn, or its session, so that the log shows one
conversation instead of one per request. The turn is found by the last item in the input that a model made, or, where
clients give items ids of their own, by the name that they have for the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.record.models.choices import Api, TurnStatus
from agents.record.schemas.chat import paired_history
from agents.record.schemas.items import joined_calls
from agents.record.store import history
from agents.responses.runner.input import ParsedInput, ResponseTarget, parse_input
from agents.responses.schemas.input_items import ApprovalRequestItem, ClientCallItem, FunctionCallItem
from agents.responses.store import responses
from agents.responses.store.responses import ResponseRecord

THREAD = "thread"
"""Key in the metadata of turns: the name that a client has for the conversation."""


def find_continuation(
    actor: Actor, parsed: ParsedInput, *, api: Api = Api.RESPONSES, thread: str = ""
) -> tuple[ResponseTarget, ParsedInput] | None:
    """Return the target of a request that names none, and the new part of its input; None if it continues
    nothing."""
    position = _last_output_item(parsed.items)
    if position is None or position + 1 == len(parsed.items):
        return None
    record = _response_of(actor, parsed.items[position], api, thread)
    asks = isinstance(parsed.items[position], ApprovalRequestItem)
    if record is None or record.is_live or not _matches_history(parsed, position + 1, record.key, asks=asks):
        return None
    return target_after(record), parse_input(parsed.items[position + 1 :], parsed.readable[position + 1 :])


def target_after(record: ResponseRecord) -> ResponseTarget:
    """Return the target of a request that goes on from a response."""
    waits = record.turn_status == TurnStatus.AWAITING_INPUT
    return ResponseTarget(record.session, after=record, waiting_turn=record.turn if waits else None)


def _last_output_item(items: Sequence[object]) -> int | None:
    """Return the position of the last item that is a model's message or call, or asks for the approval of one."""
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if (
            isinstance(item, FunctionCallItem | ClientCallItem | ApprovalRequestItem)
            or getattr(item, "role", "") == "assistant"
        ):
            return position
    return None


def _response_of(actor: Actor, item: Any, api: Api, thread: str) -> ResponseRecord | None:
    """Return the response that an item may be of."""
    step = ids.parse_part(ids.Kind.STEP, item.id) if item.id else None
    if step is not None and (record := responses.of_step(actor, step, api)) is not None:
        return record
    return responses.last_unstored(actor, f"{THREAD}={thread}") if thread and api == Api.UNSTORED else None


def _matches_history(parsed: ParsedInput, count: int, response: int, *, asks: bool) -> bool:
    """Whether the first ``count`` items are exactly the history up to the end of a response; of one that ``asks`` for
    approvals, without the calls: a client knows them by other ids."""
    rows = parsed.rows[:count]
    if not asks:
        return joined_calls([row.body for row in rows if row.body]) == joined_calls(history.up_to(response))
    pairs = zip(parsed.items[:count], rows, strict=True)
    said = [row.body for item, row in pairs if row.body and not isinstance(item, ApprovalRequestItem)]
    return joined_calls(history.messages(said)) == joined_calls(paired_history(history.up_to(response)))
