"""Finds the turn that a request continues without naming it.

Clients that keep the history themselves send all of it again with each request. If the input begins with exactly
the messages of a stored turn, the request continues that turn, or its session, so that the log shows one
conversation instead of one per request.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.base import ids
from agents.base.access import Actor
from agents.record.models.choices import TurnStatus
from agents.record.schemas.items import joined_calls
from agents.record.store import history
from agents.responses.runner.input import ParsedInput, ResponseTarget, parse_input
from agents.responses.schemas.input_items import ClientCallItem, FunctionCallItem, MessageItem
from agents.responses.store import responses


def find_continuation(actor: Actor, parsed: ParsedInput) -> tuple[ResponseTarget, ParsedInput] | None:
    """Return the target of a request that names none, and the new part of its input; None if it continues
    nothing."""
    last_output = _last_output_item(parsed.items)
    if last_output is None or last_output[0] + 1 == len(parsed.items):
        return None
    position, step = last_output
    record = responses.of_step(actor, step)
    if record is None or record.is_live or not _matches_history(parsed, position + 1, record.key):
        return None
    waits = record.turn_status == TurnStatus.AWAITING_INPUT
    new_input = parse_input(parsed.items[position + 1 :], parsed.readable[position + 1 :])
    return ResponseTarget(record.session, after=record, waiting_turn=record.turn if waits else None), new_input


def _last_output_item(items: Sequence[object]) -> tuple[int, int] | None:
    """Return (position, step) of the last item that is an output of a stored step."""
    for position in range(len(items) - 1, -1, -1):
        item_id = _item_id(items[position])
        if item_id:
            step = ids.parse_part(ids.Kind.STEP, item_id)
            return None if step is None else (position, step)
    return None


def _item_id(item: object) -> str | None:
    """Return the id of an item that is a model's message or call."""
    if isinstance(item, MessageItem):
        return item.id if item.role == "assistant" else None
    return item.id if isinstance(item, FunctionCallItem | ClientCallItem) else None


def _matches_history(parsed: ParsedInput, count: int, response: int) -> bool:
    """Whether the first ``count`` items are exactly the history up to the end of a response."""
    sent = [row.body for row in parsed.rows[:count] if row.body]
    return joined_calls(sent) == joined_calls(history.up_to(response))
