"""Vector databases: register, read, list, delete; documents into them, chunks out of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, NotFound
from agents.base.models.fields import storable
from agents.base.store import scopes
from agents.base.store.sql import Insert
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument
from agents.knowledge.store import passages
from agents.record.models.agents import Session
from agents.record.store import references

MAX_LISTED = 1000
DELETE_BATCH = 500
"""Chunks that one statement takes away."""
KEYWORD = "keyword"
"""The embedding model of a database that is searched by words alone."""


@dataclass(frozen=True, slots=True)
class VectorDBRecord:
    """A vector database as the rest of the house sees it."""

    key: int
    identifier: str
    embedding_model: str
    embedding_dimension: int
    provider_id: str
    version: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    """``embedding`` as `vectors.pack` made it."""

    text: str
    tokens: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    embedding: bytes | None = None


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document with its chunks in order; ``size`` in characters."""

    document_id: str
    chunks: Sequence[NewChunk]
    mime_type: str = "text/plain"
    name: str = ""
    size: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


_COLUMNS = ("id", "identifier", "embedding_model", "embedding_dimension", "provider_id", "version")


# --------------------------------------------------------------------------------------------- databases


def register(
    actor: Actor, identifier: str, *, embedding_model: str, embedding_dimension: int, provider_id: str
) -> VectorDBRecord:
    """Make a database, or find the same one again. Raises Conflict where the actor has another one of
    that name. Others may have theirs of the same name: nobody is told."""

    def job() -> VectorDBRecord:
        own = VectorDB.objects.unscoped("the maker's own").filter(
            owner_id=actor.user_id, scope_id=scopes.scope_for(actor), identifier=storable(identifier)
        )
        row = own.values_list(*_COLUMNS).first()
        if row is None:
            return _make(actor, identifier, embedding_model, embedding_dimension, provider_id)
        return _check_same(VectorDBRecord(*row), embedding_model, embedding_dimension)

    return writer.write(job)


def _make(actor: Actor, identifier: str, model: str, dimension: int, provider_id: str) -> VectorDBRecord:
    row = VectorDB(
        identifier=identifier,
        embedding_model=model,
        embedding_dimension=dimension,
        provider_id=provider_id,
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        created_at=to_datetime(ids.now_us()),
    )
    row.save(force_insert=True)
    return VectorDBRecord(row.pk, identifier, model, dimension, provider_id, 0)


def _check_same(existing: VectorDBRecord, model: str, dimension: int) -> VectorDBRecord:
    if (existing.embedding_model, existing.embedding_dimension) != (model, dimension):
        message = f"Vector database '{existing.identifier[:200]}' exists with another embedding model or dimension."
        raise Conflict(message, code="vector_db_exists")
    return existing


def of_session(session: int, *, embedding_model: str = "") -> VectorDBRecord | None:
    """The database of a session the actor was let into; with ``embedding_model`` it is made if there
    is none yet. It is as visible as its session and dies with it."""
    rows = VectorDB.objects.unscoped("as visible as its session").filter(session_id=session)
    row = rows.values_list(*_COLUMNS).first()
    if row is not None or not embedding_model:
        return VectorDBRecord(*row) if row else None

    def job() -> None:
        owner, scope = Session.objects.unscoped("its own").values_list("owner_id", "scope_id").get(pk=session)
        VectorDB.objects.unscoped("as visible as its session").get_or_create(
            session_id=session,
            defaults={
                "identifier": f"vector_db_{ids.public(ids.Kind.SESSION, session)}",
                "embedding_model": embedding_model,
                "embedding_dimension": 0,
                "provider_id": "builtin",
                "owner_id": owner,
                "scope_id": scope,
                "created_at": to_datetime(ids.now_us()),
            },
        )

    writer.write(job)
    return of_session(session)


def get(actor: Actor, identifier: str, action: Action = "read") -> VectorDBRecord:
    """A database by its name: the actor's own, else the oldest it may see. Raises NotFound."""
    rows = VectorDB.objects.visible_to(actor, action).filter(identifier=identifier[:256]).order_by("id")
    candidates = list(rows.values_list(*_COLUMNS, "owner_id")[:100])
    if not candidates:
        raise NotFound(f"Vector database '{identifier[:200]}' not found.", code="vector_db_not_found")
    own = [row for row in candidates if row[-1] == actor.user_id]
    return VectorDBRecord(*(own or candidates)[0][:-1])


def listing(actor: Actor) -> list[VectorDBRecord]:
    """The databases an actor may see, newest first; those of sessions are left out."""
    rows = VectorDB.objects.visible_to(actor).filter(session_id=None).order_by("-id")
    return [VectorDBRecord(*row) for row in rows.values_list(*_COLUMNS)[:MAX_LISTED]]


def delete(actor: Actor, identifier: str) -> None:
    """Delete a database with all that is in it. Raises NotFound."""
    key = get(actor, identifier, "manage").key
    writer.write(lambda: drop([key]))


def delete_key(actor: Actor, key: int) -> None:
    """Delete this database: of several of a name, it need not be the one that is used. Raises NotFound."""

    def job() -> None:
        visible_keys = list(VectorDB.objects.visible_to(actor, "manage").filter(pk=key).values_list("pk", flat=True))
        if not visible_keys:
            raise NotFound("This vector database was not found.", code="vector_db_not_found")
        drop(visible_keys)

    writer.write(job)


def drop(keys: Sequence[int]) -> None:
    """Delete databases within the caller's transaction."""
    references.plan(VectorDB).delete(keys)


# --------------------------------------------------------------------------------------------- documents


_ADD_CHUNK = Insert(Chunk, "id vector_db_id document_id position text tokens metadata embedding")
_ADD_DOCUMENT = Insert(
    VectorDocument,
    "id vector_db_id document_id name mime_type status error error_code chunk_tokens chunk_overlap work lease_owner "
    "metadata created_at size chunk_count",
    replace="id",
)


def insert(db: int, documents: Sequence[NewDocument], *, replace: bool = True) -> None:
    """Put documents into a database, all or none. One that is there already is replaced, or, without
    ``replace``, gets more chunks (equal ones once). Raises NotFound when the database has gone."""
    index_texts = [[passages.index_text(db, chunk.text) for chunk in document.chunks] for document in documents]

    def job() -> None:
        if not _touch(db):
            raise NotFound("The vector database was deleted.", code="vector_db_not_found")
        _insert(db, documents, index_texts, replace)

    writer.write(job)


def _touch(db: int) -> int:
    return VectorDB.objects.unscoped("checked by the caller").filter(pk=db).update(version=F("version") + 1)


def _insert(db: int, documents: Sequence[NewDocument], index_texts: Sequence[Sequence[str]], replace: bool) -> None:
    existing = _existing(db, [document.document_id for document in documents])
    rows, chunks, index_rows = [], [], []
    for document, document_texts in zip(documents, index_texts, strict=True):
        key, count, size = existing.get(storable(document.document_id), (0, 0, 0))
        if key:
            count, size = _clear_document(key, document, count, size, replace)
        key = key or ids.new_key()
        existing[storable(document.document_id)] = key, count + len(document_texts), size + document.size
        rows.append((key, db, *_facts(document), size + document.size, count + len(document_texts)))
        for position, (chunk, index_text) in enumerate(zip(document.chunks, document_texts, strict=True), start=count):
            chunks.append(
                (ids.new_key(), db, key, position, chunk.text, chunk.tokens, _json(chunk.metadata), chunk.embedding)
            )
            index_rows.append((chunks[-1][0], index_text))
    _ADD_DOCUMENT.execute_many(rows)
    _ADD_CHUNK.execute_many(chunks)
    passages.index(index_rows)


def _facts(document: NewDocument) -> tuple[object, ...]:
    names = document.document_id, document.name[:500], document.mime_type[:200]
    return *names, "completed", "", *_NOT_OF_A_FILE, _json(document.metadata), ids.now_us()


_NOT_OF_A_FILE = ("", 0, 0, 0, "")
"""Error code, chunks' tokens and overlap, work, lease: nobody fills it later."""


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value))


def _existing(db: int, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """(key, chunks, size) of the documents that are there already, by their names."""
    rows = VectorDocument.objects.filter(vector_db_id=db, document_id__in=[storable(name) for name in names])
    return {row[0]: row[1:] for row in rows.values_list("document_id", "pk", "chunk_count", "size")}


def _clear_document(key: int, new: NewDocument, count: int, size: int, replace: bool) -> tuple[int, int]:
    """(chunks, size) of a document that is there, once what the new one replaces has gone."""
    if replace:
        passages.remove("document_id = %s", key)
        Chunk.objects.filter(document_id=key)._raw_delete("default")
        return 0, 0
    texts = {storable(chunk.text) for chunk in new.chunks}
    same = [pk for pk, text in Chunk.objects.filter(document_id=key).values_list("pk", "text") if text in texts]
    for start in range(0, len(same), DELETE_BATCH):
        batch = same[start : start + DELETE_BATCH]
        passages.remove(f"id IN ({', '.join(['%s'] * len(batch))})", *batch)
        Chunk.objects.filter(pk__in=batch)._raw_delete("default")
    return count, size


def documents(db: int) -> list[tuple[str, int]]:
    """(document_id, chunks) of a database the actor was let into, oldest first."""
    rows = VectorDocument.objects.filter(vector_db_id=db).order_by("id")
    return list(rows.values_list("document_id", "chunk_count")[:MAX_LISTED])
