"""Stores the responses of turns: each is one request, with who sent it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.models.terms import TermKind
from agents.base.store import encoding, scopes, terms
from agents.base.store.sql import Insert, Select, Update
from agents.record.models.agents import Session
from agents.record.models.choices import Api, TurnStatus
from agents.record.models.turns import Response
from agents.record.schemas.content import ImageItem, TextItem, TurnMessage
from agents.record.schemas.events import Steering, TurnResumed
from agents.record.store import tags
from agents.record.store.history import NewItem
from agents.record.store.retries import Retry


@dataclass(frozen=True, slots=True)
class NewResponse:
    """The values of a new response. ``body`` is the request as received, ``settings`` the fields that
    the response repeats, ``items`` the input as history keeps it, with the form it came in (None: made
    from the messages). ``needs_caller`` says that the request came with data that is not stored;
    ``actor`` is who sent it, ``prompt`` the id and the version of the prompt that its instructions are from."""

    key: int
    body: bytes
    api: Api = Api.AGENTS
    model: str = ""
    settings: str = ""
    items: Sequence[NewItem] | None = None
    retry: Retry | None = None
    needs_caller: bool = False
    actor: Actor | None = None
    prompt: tuple[str, str] | None = None


_SENDER = "needs_caller actor_user actor_key actor_scope"
_ADD_RESPONSE = Insert(
    Response,
    "id turn_id number previous_id api model_id status created_at first_seq first_step first_item input_items "
    "input_tokens output_tokens cached_tokens reasoning_tokens settings request request_encoding fingerprint body_hash "
    f"{_SENDER}",
)


@dataclass(frozen=True, slots=True)
class ResponseStart:
    """The start of a response: its number in the turn, its first event, step and item, the number of its
    input items, and the response before it."""

    number: int
    seq: int
    at_us: int
    step: int
    item: int
    items: int
    previous: int | None


def _actor_columns(actor: Actor | None) -> tuple[int | None, int | None, int | None]:
    if actor is None or actor.user_id is None:
        return None, None, None
    return actor.user_id, actor.key_id, scopes.scope_of(actor.attributes) if actor.key_id is None else None


def add_response(
    turn: int, new: NewResponse, status: TurnStatus, start: ResponseStart, request: tuple[int, bytes]
) -> None:
    encoded, packed = request
    model = terms.intern(TermKind.MODEL, new.model)
    identity = (new.key, turn, start.number, start.previous, new.api.value, model, status.value)
    columns = (start.at_us, start.seq, start.step, start.item, start.items)
    fingerprint, body_hash = (new.retry.fingerprint, new.retry.body_hash) if new.retry else ("", "")
    _ADD_RESPONSE.later(
        *identity,
        *columns,
        0,
        0,
        0,
        0,
        new.settings,
        packed,
        encoded,
        fingerprint,
        body_hash,
        new.needs_caller,
        *_actor_columns(new.actor),
    )
    if new.prompt is not None:
        tags.index_prompt(turn, *new.prompt)


# --------------------------------------------------------------------------------------------- steering

_LAST = Select(
    Response,
    f"id api model_id settings request_encoding request {_SENDER}",
    "turn_id = %s ORDER BY number DESC LIMIT 1",
)
_ITEM_COUNT = Select(Session, "item_count", "id = %s")


def follow_response(turn: int, session: int, event: TurnResumed, steering: Steering) -> None:
    """End the response that a turn runs, and begin the one that follows it because its client has steered it: with the
    same settings, and what the client said as its input."""
    last, items = _LAST.first(turn), _ITEM_COUNT.first(session)
    key = ids.parse_openai(ids.Kind.RESPONSE, steering.response)
    if last is None or items is None or key is None:
        return  # deleted meanwhile
    previous, api, model, settings, kind, request, *sender = last
    ended = Update(Response)
    ended.set(last_seq=event.seq - 1, status=TurnStatus.COMPLETED.value, completed_at=event.at, end_item=items[0])
    ended.write_later("id", previous)
    previous_id = ids.openai(ids.Kind.RESPONSE, previous)
    body = {**msgspec.json.decode(encoding.unpack(kind, request)), "input": _sent(steering.messages)}
    encoded, packed = encoding.pack(msgspec.json.encode({**body, "previous_response_id": previous_id}))
    _ADD_RESPONSE.later(
        *(key, turn, event.leg, previous, api, model, TurnStatus.IN_PROGRESS.value),
        *(event.at, event.seq, steering.step, items[0], len(steering.messages)),
        *(0, 0, 0, 0),
        *(following_settings(settings.encode(), previous_id).decode(), packed, encoded, "", ""),
        *sender,
    )


def following_settings(settings: bytes, previous: str) -> bytes:
    """Return the settings of a response, for the one that follows it."""
    return msgspec.json.encode({**msgspec.json.decode(settings or b"{}"), "previous_response_id": previous})


def _sent(messages: Sequence[TurnMessage]) -> list[dict[str, object]]:
    """Return what a client said as the input of a request."""
    return [{"type": "message", "role": "user", "content": _parts(message)} for message in messages]


def _parts(message: TurnMessage) -> list[dict[str, str]]:
    content = message.content if isinstance(message.content, list) else [message.content]
    parts = []
    for item in content:
        match item:
            case str() | TextItem():
                parts.append({"type": "input_text", "text": item if isinstance(item, str) else item.text})
            case ImageItem() if item.image.url is not None:
                parts.append({"type": "input_image", "image_url": item.image.url.uri})
            case _:
                pass
    return parts
