"""Conversations of OpenAI's API: sessions, with metadata, into which items can be put by hand."""

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
    """``created_at`` in microseconds."""

    key: int
    name: str
    created_at: int
    metadata: Mapping[str, Any]
    active_turn: int | None
    source: int = Source.NATIVE

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.SESSION, self.key)


def missing(public_id: str) -> NotFound:
    return NotFound(f"Conversation '{public_id[:80]}' not found.")


def key_of(public_id: str) -> int:
    """The session that a conversation is. Raises InvalidRequest for what is no such id, NotFound."""
    if not public_id.startswith("conv_"):
        words = f"conversation: '{public_id[:80]}' is not the id of a conversation; those begin with conv_."
        raise InvalidRequest(words, param="conversation", code="invalid_conversation_id")
    key = ids.parse_openai(ids.Kind.SESSION, public_id)
    if key is None:
        raise missing(public_id)
    return key


def get(actor: Actor, public_id: str, action: Action = "read") -> ConversationRecord:
    """One conversation. Raises NotFound, also for one the actor may not see."""
    return of_key(actor, key_of(public_id), action)


def of_key(actor: Actor, key: int, action: Action = "read") -> ConversationRecord:
    """The conversation that a session is. Raises NotFound."""
    row = Session.objects.visible_to(actor, action).filter(pk=key).values_list(*_COLUMNS).first()
    if row is None:
        raise missing(ids.openai(ids.Kind.SESSION, key))
    return _record(row)


def _record(row: Sequence[Any]) -> ConversationRecord:
    key, name, created, metadata, active, source = row
    return ConversationRecord(key, name, to_us(created), metadata, active, source)


def listing(actor: Actor, cursor: Cursor) -> tuple[list[ConversationRecord], bool]:
    """A page of the conversations an actor may see (every session is one), and whether there are more
    behind it."""
    after, before = (key_of(one) if one else None for one in (cursor.after, cursor.before))
    bounds = Bounds(after, before, cursor.limit, cursor.newest_first)
    found, more = keyset.page(Session.objects.visible_to(actor), bounds, *_COLUMNS)
    return [_record(row) for row in found], more


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


_PLACE = Select(Session, "item_count active_turn", "id = %s AND removed_at IS NULL", locks=True)


def update(record: ConversationRecord, metadata: Mapping[str, str]) -> None:
    """Put other metadata in the place of a conversation's. The caller may."""

    def job() -> None:
        Session.objects.unscoped("checked by the caller").filter(pk=record.key).update(metadata=dict(metadata))
        tags.index_session(record.key, metadata)
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)


def add(record: ConversationRecord, items: Sequence[NewItem]) -> None:
    """Put items at the end of a conversation. Raises InvalidRequest while a response of it runs, and for one
    that goes on elsewhere."""
    sessions.check_here(record.source)

    def job() -> None:
        place = _PLACE.first(record.key)
        if place is None:
            raise missing(record.public_id)
        if place[1] is not None:
            raise locked()
        history.put(record.key, place[0], items)
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)


def locked() -> InvalidRequest:
    """A conversation takes one response at a time, and OpenAI's clients know it by this code."""
    words = "Another response of this conversation is in progress."
    headers = {"x-should-retry": "false"}
    return InvalidRequest(words, code="conversation_locked", param="conversation", headers=headers)


def remove(record: ConversationRecord, row: int, left: tuple[bytes, bytes] | None) -> None:
    """Take an item out of the history: its row, or of a row of several what is not ``left`` (as its body
    and wire). The log of the turn it came from keeps it."""

    def job() -> None:
        rows = Item.objects.unscoped("checked by the caller").filter(pk=row, session_id=record.key)
        rows.update(**({"hidden": True} if left is None else {"body": left[0], "wire": left[1]}))
        changes.note(ChangeKind.SESSION, record.key)

    writer.write(job)
