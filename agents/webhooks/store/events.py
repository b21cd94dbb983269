"""Events: written where a turn ends or waits, in its transaction; then made into a delivery for each endpoint.

A turn pays for one statement, and a row is written only where its owner has an endpoint that hears of it. Of
what kind a response's end is in OpenAI's words is found out afterwards (`agents.webhooks.runner.fan_out`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db import transaction

from agents.base import ids
from agents.base.news import News
from agents.base.store.cursors import direct_cursor
from agents.base.store.sql import execute_later
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.record.models.choices import Api, Source
from agents.record.models.turns import Turn
from agents.record.schemas.events import TurnAwaiting, TurnEnded
from agents.webhooks.models import DeliveryState, WebhookEndpoint, WebhookEvent
from agents.webhooks.schemas import event_types
from agents.webhooks.schemas.event_types import BY_NAME, BY_NUMBER, EventType
from agents.webhooks.store import deliveries

MAX_READ = 100
"""Events that are made into deliveries at once."""

_HEAD = """
    INSERT INTO agents_webhookevent (id, type, owner_id, turn_id, response_id, data, is_test, waits, created_at)
"""
_SELECT = """
    SELECT %s, %s, t.owner_id, t.id, {response}, '', FALSE, TRUE, %s
    FROM agents_turn t {join} WHERE t.id = %s AND t.source = %s {of} AND EXISTS (
        SELECT 1 FROM agents_webhookendpoint e
        WHERE e.owner_id = t.owner_id AND e.disabled_at IS NULL AND (e.event_types & %s) <> 0
    )
"""
_OF_TURN = _SELECT.format(response="CAST(NULL AS bigint)", join="", of="")
_OF_SESSION = _SELECT.format(response="CAST(NULL AS bigint)", join="", of="AND t.agent_id IS NOT NULL")
_BACKGROUND = """'%%"background":true%%'"""
"""In the settings of a response in the background, and perhaps in others: whoever reads the event looks closer."""
# The pattern and the API are part of the statement: with values for them SQLite would plan it anew each time, for its
# plan depends on the pattern's beginning, and on whether an index of one API's responses serves.
_OF_RESPONSE = _SELECT.format(
    response="r.id",
    join=f"JOIN agents_response r ON r.turn_id = t.id AND r.api = {Api.RESPONSES.value} AND r.last_seq = %s",
    of=f"AND r.settings LIKE {_BACKGROUND}",
)
_ADD_OF_TURN = _HEAD + _OF_TURN
_ADD_OF_END = _HEAD + " UNION ALL ".join((_OF_TURN, _OF_SESSION, _OF_RESPONSE))
_RESPONSE_ENDS: dict[str, tuple[EventType, ...]] = {
    "completed": (event_types.RESPONSE_COMPLETED, event_types.RESPONSE_INCOMPLETE),
    "failed": (event_types.RESPONSE_FAILED,),
    "interrupted": (event_types.RESPONSE_FAILED,),
    "cancelled": (event_types.RESPONSE_CANCELLED,),
}
"""What the end of a turn may be to its last response; the first of them unless it is found out to be another."""


def note(turn: int, event: TurnAwaiting | TurnEnded) -> None:
    """Write the events of a turn that ends or waits, in the transaction that stores it."""
    if isinstance(event, TurnEnded):
        of_turn, of_response = BY_NAME[f"turn.{event.status}"], _RESPONSE_ENDS[event.status]
        of_session = event_types.SESSION_IDLE
    else:
        of_turn, of_response = event_types.TURN_AWAITING_INPUT, (event_types.RESPONSE_COMPLETED,)
        of_session = event_types.SESSION_ACTION_REQUIRED
    native = Source.NATIVE.value
    mask = sum(kind.bit for kind in of_response)
    execute_later(
        _ADD_OF_END,
        *(ids.new_key(), of_turn.number, event.at, turn, native, of_turn.bit),
        *(ids.new_key(), of_session.number, event.at, turn, native, of_session.bit),
        *(ids.new_key(), of_response[0].number, event.at, event.seq, turn, native, mask),
    )
    transaction.on_commit(_tell_if_heard)


def note_doubt(turn: int, at_us: int) -> None:
    """Write the event of a turn that waits for somebody to decide about a call, in the transaction that stores it."""
    kind, native = event_types.TURN_IN_DOUBT, Source.NATIVE.value
    execute_later(_ADD_OF_TURN, ids.new_key(), kind.number, at_us, turn, native, kind.bit)
    transaction.on_commit(_tell_if_heard)


news = News()
"""Tells this process's sender that there may be new events, or something to be sent at once."""


def _tell_if_heard() -> None:
    if _outlook.is_heard:
        news.tell()


# ------------------------------------------------------------------------------------------ what waits


@dataclass(frozen=True, slots=True)
class Outlook:
    """What there is to do: whether events wait, and when the next delivery is due (microseconds since 1970), None where
    none is. ``is_heard`` says whether there is an endpoint: without one no turn that ends tells of it."""

    events_wait: bool
    next_due: int | None
    is_heard: bool


_outlook = Outlook(events_wait=False, next_due=None, is_heard=True)
_LOOK = """
    SELECT EXISTS (SELECT 1 FROM agents_webhookevent WHERE waits),
      (SELECT MIN(due_at) FROM agents_webhookdelivery WHERE state = %s),
      EXISTS (SELECT 1 FROM agents_webhookendpoint WHERE disabled_at IS NULL)
"""


def look_out() -> Outlook:
    """Look what there is to do: one statement, which is all that an idle process costs."""
    global _outlook
    with direct_cursor() as cursor:
        cursor.execute(_LOOK, [DeliveryState.PENDING.value])
        waits, next_due, is_heard = cursor.fetchone()
    _outlook = Outlook(bool(waits), next_due, bool(is_heard))
    return _outlook


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """An event without deliveries. ``response`` is None for one of a turn, ``session`` for a turn that was deleted;
    ``data`` are those of the payload, once they are known."""

    key: int
    kind: EventType
    turn: int
    response: int | None
    created_at: int
    session: int | None
    agent: int | None
    data: str = ""


def waiting() -> list[WaitingEvent]:
    """Return events that have no deliveries yet, the oldest first, at most `MAX_READ`."""
    columns = ("pk", "type", "turn_id", "response_id", "created_at")
    rows = list(WebhookEvent.objects.filter(waits=True).order_by("pk").values_list(*columns)[:MAX_READ])
    turns = Turn.objects.unscoped("for its owner").filter(pk__in={row[2] for row in rows})
    places = {turn: (session, agent) for turn, session, agent in turns.values_list("pk", "session_id", "agent_id")}
    return [
        WaitingEvent(key, BY_NUMBER[kind], turn, response, to_us(at), *places.get(turn, (None, None)))
        for key, kind, turn, response, at in rows
    ]


def deliver(event: WaitingEvent, now_us: int) -> None:
    """Make the deliveries of an event, or drop it where nobody hears of it. Several processes may try: one does."""

    def job() -> None:
        rows = WebhookEvent.objects.filter(pk=event.key, waits=True)
        if not rows.update(waits=False, type=event.kind.number, data=event.data):
            return
        owners = WebhookEvent.objects.filter(pk=event.key).values("owner_id")
        endpoints = WebhookEndpoint.objects.unscoped("its owner's").filter(owner_id__in=owners, disabled_at=None)
        masks = endpoints.order_by("pk").values_list("pk", "event_types")
        hear = [endpoint for endpoint, mask in masks if mask & event.kind.bit]
        if hear:
            deliveries.add(event.key, hear, now_us)
        else:
            WebhookEvent.objects.filter(pk=event.key)._raw_delete("default")

    writer.write(job)


def drop(event: WaitingEvent) -> None:
    """Delete an event that is none after all."""
    writer.write(lambda: WebhookEvent.objects.filter(pk=event.key, waits=True)._raw_delete("default"))


def with_data(event: WaitingEvent, data: str, kind: EventType | None = None) -> WaitingEvent:
    """Return an event with the data of its payload, and the type that it was found out to be of."""
    return replace(event, data=data, kind=kind or event.kind)
