"""Stores the responses of turns: each is one request, with who sent it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.models.terms import TermKind
from agents.base.store import scopes, terms
from agents.base.store.sql import Insert
from agents.record.models.choices import Api, TurnStatus
from agents.record.models.turns import Response
from agents.record.store.history import NewItem
from agents.record.store.retries import Retry


@dataclass(frozen=True, slots=True)
class NewResponse:
    """The values of a new response. ``body`` is the request as received, ``settings`` the fields that
    the response repeats, ``items`` the input as history keeps it, with the form it came in (None: made
    from the messages). ``needs_caller`` says that the request came with data that is not stored;
    ``actor`` is who sent it."""

    key: int
    body: bytes
    api: Api = Api.AGENTS
    model: str = ""
    settings: str = ""
    items: Sequence[NewItem] | None = None
    retry: Retry | None = None
    needs_caller: bool = False
    actor: Actor | None = None


_ADD_RESPONSE = Insert(
    Response,
    "id turn_id number previous_id api model_id status created_at first_seq first_step first_item input_items "
    "input_tokens output_tokens cached_tokens reasoning_tokens settings request request_encoding fingerprint body_hash "
    "needs_caller actor_user actor_key actor_scope",
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
