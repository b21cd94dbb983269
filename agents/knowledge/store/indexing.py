"""Work on documents that are made of files: begun, filled or failed, and taken up where a process left it.

An attempt to fill a document has a number, which the document holds. Whoever cancels it, deletes the document or
begins anew changes that, and what the old attempt still brings is thrown away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from agents.base import ids
from agents.base.store import processes
from agents.base.store.sql import Insert
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.knowledge.models.vector_dbs import Chunk, VectorDB, VectorDocument
from agents.knowledge.store import passages
from agents.knowledge.store.vector_dbs import NewChunk, VectorDBRecord

LEASE_S = 60
"""How long a process may say nothing of its work until others take it for gone."""
MAX_TAKEN = 100
"""Documents that a process takes over at once; others may take more."""
MAX_ATTEMPTS = 3
"""A file during which the server died this often is not read again: it may be the cause."""
MAX_ERROR_CHARS = 2_000
"""Characters of an error."""
_ADD_CHUNK = Insert(Chunk, "id vector_db_id document_id position text tokens metadata embedding")


@dataclass(frozen=True, slots=True)
class Work:
    """An attempt to fill a document."""

    document: int
    number: int


@dataclass(frozen=True, slots=True)
class IndexingInput:
    """What an attempt needs: the database to fill, the file and how to cut it. ``size`` in bytes."""

    db: VectorDBRecord
    file: int
    filename: str
    mime_type: str
    size: int
    chunk_tokens: int
    chunk_overlap: int


def _current(work: Work) -> Any:
    """The document, while the attempt counts."""
    return VectorDocument.objects.filter(pk=work.document, work=work.number, status="in_progress")


def begin(work: Work) -> IndexingInput | None:
    """What is to be done; None when it no longer is, or was begun too often."""
    db = ("identifier", "embedding_model", "embedding_dimension", "provider_id", "version")
    columns = ("file_id", "name", "mime_type", "file__size", "chunk_tokens", "chunk_overlap")
    row = (
        _current(work).values_list("attempts", "vector_db_id", *(f"vector_db__{name}" for name in db), *columns).first()
    )
    if row is None:
        return None
    attempts, *row = row
    if attempts >= MAX_ATTEMPTS:
        fail(work, "server_error", f"The server stopped {MAX_ATTEMPTS} times while it read the file.")
        return None
    if not writer.write(lambda: _current(work).update(attempts=F("attempts") + 1)):
        return None
    return IndexingInput(VectorDBRecord(*row[:6]), *row[6:])


def fill(work: Work, db: int, chunks: Sequence[NewChunk], size: int) -> bool:
    """End an attempt well: the document's chunks in order, and ``size`` of its text in bytes. False when it
    counts no more."""
    shapes = [passages.index_text(db, chunk.text) for chunk in chunks]

    def job() -> bool:
        rows = _current(work)
        row = rows.values_list("document_id", "name", "metadata").first()
        if row is None:
            return False
        _add(work.document, db, chunks, shapes, json.dumps(chunk_metadata(*row)))
        rows.update(status="completed", error="", error_code="", size=size, chunk_count=len(chunks), lease_until=None)
        touch(db)
        return True

    return writer.write(job)


def chunk_metadata(document_id: str, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What a chunk of such a document is told to be of, where chunks are shown to models."""
    return {**attributes, "document_id": document_id, "filename": name}


def _add(document: int, db: int, chunks: Sequence[NewChunk], shapes: Sequence[str], metadata: str) -> None:
    keys = [ids.new_key() for _ in chunks]
    _ADD_CHUNK.execute_many(
        (key, db, document, position, chunk.text, chunk.tokens, metadata, chunk.embedding)
        for position, (key, chunk) in enumerate(zip(keys, chunks, strict=True))
    )
    passages.index(zip(keys, shapes, strict=True))


def touch(db: int) -> None:
    """Say, in the caller's transaction, that a database's chunks are others now."""
    VectorDB.objects.unscoped("checked by the caller").filter(pk=db).update(version=F("version") + 1)


def fail(work: Work, code: str, message: str) -> None:
    """End an attempt badly."""
    writer.write(
        lambda: _current(work).update(
            status="failed", error=message[:MAX_ERROR_CHARS], error_code=code, lease_until=None
        )
    )


# ----------------------------------------------------------------------------------------------- leases


def lease_end(now_us: int) -> Any:
    """Until when work that is done now needs no other sign of life."""
    return to_datetime(now_us + LEASE_S * 1_000_000)


def renew(documents: Sequence[int], owner: str, now_us: int) -> None:
    """Say that these documents are still being worked on, or wait for it."""
    rows = VectorDocument.objects.filter(pk__in=documents, status="in_progress", lease_owner=owner)
    writer.write(lambda: rows.update(lease_until=lease_end(now_us)))


def release(documents: Sequence[int], owner: str) -> None:
    """Let others have these documents at once: this process stops before it has read them."""
    rows = VectorDocument.objects.filter(pk__in=documents, status="in_progress", lease_owner=owner)
    writer.write(lambda: rows.update(lease_until=None))


def take_over(owner: str, now_us: int, own: frozenset[int] = frozenset()) -> list[Work]:
    """Begin new attempts at the documents whose process is gone, but for those of ``own``, which are being worked on
    here; returns those that this process has now, the oldest first. Of several processes that try, one has each."""
    rows = VectorDocument.objects.filter(status="in_progress").order_by("pk")
    now, attempts = to_datetime(now_us), list(rows.values_list("pk", "work", "lease_owner", "lease_until"))
    living = processes.living(last_owner for _, _, last_owner, _ in attempts)
    lost = [
        Work(key, number)
        for key, number, last_owner, until in attempts
        if key not in own and (until is None or until < now or last_owner not in living)
    ]
    return [new for work in lost[:MAX_TAKEN] if (new := _take(work, owner, now_us)) is not None]


def _take(work: Work, owner: str, now_us: int) -> Work | None:
    """Replace an attempt by a new one; None where another process was first."""
    new = Work(work.document, ids.new_key())
    columns = {"work": new.number, "lease_owner": owner, "lease_until": lease_end(now_us)}
    return new if writer.write(lambda: _current(work).update(**columns)) else None


def empty(documents: Sequence[int]) -> None:
    """Take the chunks of documents away, within the caller's transaction."""
    for key in documents:
        passages.remove("document_id = %s", key)
        Chunk.objects.filter(document_id=key)._raw_delete("default")


def drop(documents: Sequence[int]) -> None:
    """Delete documents within the caller's transaction."""
    rows = VectorDocument.objects.filter(pk__in=documents)
    dbs = set(rows.values_list("vector_db_id", flat=True))
    empty(documents)
    rows._raw_delete("default")
    for db in dbs:
        touch(db)


def drop_files(files: Sequence[int]) -> None:
    """Delete the documents made of these files, wherever they are, within the caller's transaction."""
    drop(list(VectorDocument.objects.filter(file_id__in=files).values_list("pk", flat=True)))
