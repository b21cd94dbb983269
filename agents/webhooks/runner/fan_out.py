"""Makes events into deliveries: finds out of what kind the end of a response is, and completes their data."""

from __future__ import annotations

import logging

import msgspec

from agents.base import ids
from agents.record.store import turns
from agents.responses.runner.response_state import ended_as
from agents.responses.store import responses
from agents.webhooks.schemas.event_types import BY_NAME, SESSION_ACTION_REQUIRED
from agents.webhooks.store import events
from agents.webhooks.store.events import WaitingEvent
from agents.webhooks.wire.payload import APPROVAL, FUNCTION_CALL, response_data, session_data, turn_data

log = logging.getLogger(__name__)


class _Settings(msgspec.Struct):
    background: bool = False


def fan_out() -> int:
    """Make deliveries of the events that wait; returns how many there were. Reads and writes tables."""
    waiting = events.waiting()
    for event in waiting:
        completed = _completed(event)
        if completed is None:
            events.drop(event)
        else:
            events.deliver(completed, ids.now_us())
    return len(waiting)


def _completed(event: WaitingEvent) -> WaitingEvent | None:
    """Return an event with its data; None where what it happened to is gone, or a response is not in the background."""
    if event.response is not None:
        return _of_response(event, event.response)
    if event.session is None:
        return None
    if event.kind.subject == "session":
        return events.with_data(event, session_data(event.session, _required_action(event)))
    return events.with_data(event, turn_data(event.turn, event.session, event.agent))


def _required_action(event: WaitingEvent) -> str | None:
    """Return what a session waits for; of one that has been answered meanwhile it is not known any more, and most wait
    for a function."""
    if event.kind is not SESSION_ACTION_REQUIRED:
        return None
    pending = turns.pending_calls(event.turn)
    return APPROVAL if pending and pending[0].needs_approval else FUNCTION_CALL


def _of_response(event: WaitingEvent, response: int) -> WaitingEvent | None:
    found = next(responses.records([(response, 0)]), [])
    if not found or not msgspec.json.decode(found[0].settings or b"{}", type=_Settings).background:
        return None
    kind = event.kind
    try:
        status, _ = ended_as(found[0], responses.outcomes(found)[response])
        kind = BY_NAME.get(f"response.{status}", kind)
    except (ValueError, msgspec.MsgspecError):  # a step that cannot be read must not keep back what happened
        log.exception("response=%s: whether it is complete cannot be read", found[0].public_id)
    return events.with_data(event, response_data(response), kind)
