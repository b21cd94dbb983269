"""Conversations of OpenAI's API: sessions with metadata, to which callers can add items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, keyset
from agents.base.store.keyset import Bounds, Cursor
from agents.base.store.sql import Select
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.record.models.agents import Session
from agents.record.models.choices import Api, Source
from agents.record.models.turns import Item
from agents.record.store import history, sessions, tags
from agents.record.store.history import NewItem
from agents.record.store.sessions import NewSession

_COLUMNS = ("pk", "name", "created_at", "metadata", "active_turn", "source")


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """A conversation. ``created_at`` is in microseconds."""

    key: int
    name: str
    created_at: int
    metadata: Mapping[str, Any]
    active_turn: int | None
    source: int = Source.NATIVE

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.SESSION, self.key)


def not_found(public_id: str) -> NotFound:
    return NotFound(f"Conversation '{public_id[:80]}' not found.")


def key_of(public_id: str) -> int:
    """Return the key of a conversation's session. Raises InvalidRequest for an invalid id, NotFound."""
    if not public_id.startswith("conv_"):
        message = f"conversation: '{public_id[:80]}' is not the id of a conversation; those begin with conv_."
        raise InvalidRequest(message, param="conversation", code="invalid_conversation_id")
    key = ids.parse_openai(ids.Kind.SESSION, public_id)
    if key is None:
        raise not_found(public_id)
    return key


def get(actor: Actor, public_id: str, action: Action = "read") -> ConversationRecord:
    """Return a conversation. Raises NotFound, also for one that the actor may not see."""
    return of_key(actor, key_of(public_id), action)


def of_key(actor: Actor, key: int, action: Action = "read") -> ConversationRecord:
    """Return the conversation of a session. Raises NotFound."""
    row = _conversations(actor, action).filter(pk=key).values_list(*_COLUMNS).first()
    if row is None:
        raise not_found(ids.openai(ids.Kind.SESSION, key))
    return _record(row)


def _conversations(actor: Actor, action: Action = "read") -> Any:
    """Every session is a conversation, but for those that clients asked not to store."""
    return Session.objects.visible_to(actor, action).exclude(api=Api.UNSTORED)


def _record(row: Sequence[Any]) -> ConversationRecord:
    key, name, created, metadata, active, source = row
    return ConversationRecord(key, name, to_us(created), metadata, active, source)


def listing(actor: Actor, cursor: Cursor) -> tuple[list[ConversationRecord], bool]:
    """Return a page of the conversations that an actor may see (every session is one), and whether more
    follow."""
    after, before = (key_of(edge) if edge else None for edge in (cursor.after, cursor.before))
    bounds = Bounds(after, before, cursor.limit, cursor.newest_first)
    rows, more = keyset.page(_conversations(actor), bounds, *_COLUMNS)
    return [_record(row) for row in rows], more


def create(actor: Actor, items: Sequence[NewItem], metadata: Mapping[str, str]) -> int:
    """Store a new conversation; returns its key."""
    name = str(metadata.get("name", ""))[:500]
    new = NewSession(ids.new_key(), name=name, api=Api.RESPONSES, metadata=_json(metadata))

    def job() -> None:
        sessions.add(actor, new)
        history.put(new.key, 0, items)

    writer.write(job)
    return new.key


def _json(metadata: Mapping[str, str]) -> str:
    return msgspec.json.encode(metadata).decode()


_LOCKED_SESSION = Select(Session, "item_count active_turn", "id = %s AND removed_at IS NULL", locks=True)


def update(record: ConversationRecord, metadata: Mapping[str, str]) -> None:
    """Replace a conversation's metadata. The caller has checked the right to."""

    def job() -> None:
        Session.objects.unscoped("checked by the caller").filter(pk=record.key).update(metadata=dict(metadata))
        tags.index_session(record.key, metadata)
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)


def add(record: ConversationRecord, items: Sequence[NewItem]) -> None:
    """Append items to a conversation. Raises InvalidRequest while a response of it runs, and for a
    conversation of an external agent."""
    sessions.check_here(record.source)

    def job() -> None:
        state = _LOCKED_SESSION.first(record.key)
        if state is None:
            raise not_found(record.public_id)
        if state[1] is not None:
            raise locked_error()
        history.put(record.key, state[0], items)
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)


def locked_error() -> InvalidRequest:
    """Return the error of a conversation that has a running response, with the code of OpenAI's clients."""
    message = "Another response of this conversation is in progress."
    headers = {"x-should-retry": "false"}
    return InvalidRequest(message, code="conversation_locked", param="conversation", headers=headers)


def remove(record: ConversationRecord, row: int, remaining: tuple[bytes, bytes] | None) -> None:
    """Remove an item from the history: hide its row, or replace a row of several items by what is
    ``remaining`` (body and wire). The log of its turn keeps it."""

    def job() -> None:
        rows = Item.objects.unscoped("checked by the caller").filter(pk=row, session_id=record.key)
        rows.update(**({"hidden": True} if remaining is None else {"body": remaining[0], "wire": remaining[1]}))
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)
