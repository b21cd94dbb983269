"""Vector stores: the vector databases that OpenAI's API makes, under ids instead of names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, Sum

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.knowledge.models.vector_dbs import VectorDB, VectorDocument
from agents.knowledge.store import vector_dbs

DAY_US = 86_400_000_000
ACTIVITY_RESOLUTION_US = 60_000_000
"""How much later than it was a use may be noted."""
_COLUMNS = ("id", "name", "metadata", "created_at", "last_active_at", "expires_days")


@dataclass(frozen=True, slots=True)
class StoreRecord:
    """A vector store; moments in microseconds since 1970. ``counts`` of files by their status, ``usage`` in
    bytes of text."""

    key: int
    name: str
    metadata: Mapping[str, Any]
    created_at: int
    last_active_at: int
    expires_days: int | None
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: int = 0

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.VECTOR_STORE, self.key)

    @property
    def expires_at(self) -> int | None:
        return None if self.expires_days is None else self.last_active_at + self.expires_days * DAY_US


@dataclass(frozen=True, slots=True)
class NewStore:
    """How a store is to be made; ``embedding_dimension`` 0 takes what the model gives."""

    name: str
    embedding_model: str
    embedding_dimension: int
    provider_id: str = "builtin"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_days: int | None = None


# ----------------------------------------------------------------------------------------------- writing


def make(actor: Actor, new: NewStore) -> int:
    """Make a store within the caller's transaction; returns its key."""
    key, now = ids.new_key(), to_datetime(ids.now_us())
    row = VectorDB(
        id=key,
        identifier=ids.openai(ids.Kind.VECTOR_STORE, key),
        name=new.name,
        embedding_model=new.embedding_model,
        embedding_dimension=new.embedding_dimension,
        provider_id=new.provider_id,
        metadata=dict(new.metadata),
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        created_at=now,
        is_store=True,
        expires_days=new.expires_days,
        last_active_at=now,
    )
    row.save(force_insert=True)
    return key


def update(actor: Actor, public: str, changes: Mapping[str, Any]) -> StoreRecord:
    """Change ``name``, ``metadata`` or ``expires_days``; that counts as a use. Raises NotFound."""

    def job() -> None:
        key = get(actor, public, "manage").key
        rows = VectorDB.objects.unscoped("checked above").filter(pk=key)
        rows.update(last_active_at=to_datetime(ids.now_us()), **changes)

    writer.write(job)
    return get(actor, public, "manage")


def delete(actor: Actor, public: str) -> None:
    """Delete a store and what is in it, but not its files. Raises NotFound."""
    writer.write(lambda: vector_dbs.drop([get(actor, public, "manage").key]))


def use(store: int) -> None:
    """Note that a store is used; one the actor was let into. Raises InvalidRequest where it has expired.
    Nothing is noted of other databases."""
    rows = VectorDB.objects.unscoped("checked by the caller").filter(pk=store, is_store=True)
    row = rows.values_list("last_active_at", "expires_days").first()
    if row is None:
        return
    now, last = ids.now_us(), to_us(row[0])
    if row[1] is not None and last + row[1] * DAY_US <= now:
        message = "The vector store has expired; change its expires_after to use it again."
        raise InvalidRequest(message, param="vector_store_id", code="vector_store_expired")
    if now - last > ACTIVITY_RESOLUTION_US:
        writer.write(lambda: rows.update(last_active_at=to_datetime(now)))


# ----------------------------------------------------------------------------------------------- reading


def get(actor: Actor, public: str, action: Action = "read") -> StoreRecord:
    """A store. Raises NotFound."""
    key = ids.parse_openai(ids.Kind.VECTOR_STORE, public)
    rows = VectorDB.objects.visible_to(actor, action).filter(pk=key, is_store=True)
    row = rows.values_list(*_COLUMNS).first() if key is not None else None
    if row is None:
        raise NotFound(f"Vector store '{public[:80]}' not found.", code="vector_store_not_found")
    [record] = _records([row])
    return record


def listing(actor: Actor, cursor: Cursor) -> tuple[list[StoreRecord], bool]:
    """A page of stores, and whether there are more behind it. Raises InvalidRequest for a cursor that is no
    store's id."""
    rows = VectorDB.objects.visible_to(actor).filter(is_store=True)
    bounds = keyset.bounds(ids.Kind.VECTOR_STORE, cursor, "a vector store")
    page, has_more = keyset.page(rows, bounds, *_COLUMNS)
    return _records(page), has_more


def _records(rows: Sequence[Iterable[Any]]) -> list[StoreRecord]:
    stores = [
        (key, name, metadata, to_us(created), to_us(last_active), days)
        for key, name, metadata, created, last_active, days in rows
    ]
    counts, usage = document_counts(Q(vector_db_id__in=[row[0] for row in stores]), "vector_db_id")
    return [StoreRecord(*row, counts.get(row[0], {}), usage.get(row[0], 0)) for row in stores]


def document_counts(condition: Q, column: str) -> tuple[dict[int, dict[str, int]], dict[int, int]]:
    """How many documents are how far, and how large they are, by what this column says of them."""
    counts: dict[int, dict[str, int]] = {}
    usage: dict[int, int] = {}
    rows = VectorDocument.objects.filter(condition).values_list(column, "status").order_by()
    for key, status, count, size in rows.annotate(Count("pk"), Sum("size")):
        counts.setdefault(key, {})[status] = count
        usage[key] = usage.get(key, 0) + size
    return counts, usage
