"""Files in vector stores: put in (one, or a batch), listed, described, read, taken out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import keyset
from agents.base.store.keyset import Bounds, Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.knowledge.models.vector_dbs import Chunk, FileBatch, VectorDocument
from agents.knowledge.store import files, indexing, vector_stores
from agents.knowledge.store.indexing import Work
from agents.knowledge.store.vector_stores import NewStore

_COLUMNS = (
    *("id", "document_id", "name", "status", "error_code", "error", "size", "metadata"),
    *("chunk_tokens", "chunk_overlap", "created_at"),
)


@dataclass(frozen=True, slots=True)
class NewStoreFile:
    """A file to be put into a store, by its id; ``tokens`` of a chunk, ``overlap`` of two."""

    file_id: str
    tokens: int
    overlap: int
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file in a store. ``size`` of its text in bytes; the moment in microseconds since 1970."""

    key: int
    file_id: str
    filename: str
    status: str
    error_code: str
    error: str
    size: int
    attributes: Mapping[str, Any]
    tokens: int
    overlap: int
    created_at: int


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Files that were put in together; ``counts`` by their status."""

    key: int
    created_at: int
    cancelled: bool
    counts: Mapping[str, int]

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.FILE_BATCH, self.key)

    @property
    def status(self) -> str:
        """``completed`` also where some failed, as long as not all did."""
        if self.counts.get("in_progress"):
            return "in_progress"
        if self.cancelled:
            return "cancelled"
        return "failed" if set(self.counts) == {"failed"} else "completed"


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """What was put in: the store, the batch if it is one, and the work there is to do now."""

    store: int
    work: Sequence[Work]
    batch: int | None = None


_FACTS = tuple(StoreFile.__dataclass_fields__)


def _record(row: Iterable[Any]) -> StoreFile:
    facts: dict[str, Any] = dict(zip(_FACTS, row, strict=True))
    return StoreFile(**{**facts, "created_at": to_us(facts["created_at"])})


# --------------------------------------------------------------------------------------------- putting in


def create_store(actor: Actor, new: NewStore, new_files: Sequence[NewStoreFile], owner: str) -> AddedFiles:
    """Make a store with these files, or neither. Raises NotFound, naming a file that is not there."""

    def job() -> AddedFiles:
        store = vector_stores.make(actor, new)
        return _add(store, _files(actor, new_files, "manage"), new_files, owner, None)

    return writer.write(job)


def add(actor: Actor, store: str, new_files: Sequence[NewStoreFile], owner: str, *, batch: bool = False) -> AddedFiles:
    """Put files into a store, all or none; one that is there already is read again. ``owner`` is the
    process that does the work. Raises NotFound, and InvalidRequest where the store has expired or a file is
    named twice."""
    if len({file.file_id for file in new_files}) < len(new_files):
        raise InvalidRequest("file_ids: a file is named twice.", param="file_ids")
    vector_stores.use(vector_stores.get(actor, store, "run").key)

    def job() -> AddedFiles:
        key = vector_stores.get(actor, store, "run").key
        batch_row = None
        if batch:
            batch_row = FileBatch(vector_db_id=key, created_at=to_datetime(ids.now_us()))
            batch_row.save(force_insert=True)
        return _add(key, _files(actor, new_files, "run"), new_files, owner, batch_row.pk if batch_row else None)

    return writer.write(job)


def _add(
    store: int, fields: dict[str, dict[str, Any]], new_files: Sequence[NewStoreFile], owner: str, batch: int | None
) -> AddedFiles:
    indexing.drop(_existing(store, list(fields)))
    rows = [
        VectorDocument(vector_db_id=store, batch_id=batch, **fields[file.file_id], **_document_fields(file, owner))
        for file in new_files
    ]
    VectorDocument.objects.bulk_create(rows)
    return AddedFiles(store, [Work(row.pk, row.work) for row in rows], batch)


def _document_fields(file: NewStoreFile, owner: str) -> dict[str, Any]:
    now = ids.now_us()
    return {
        "document_id": file.file_id,
        "status": "in_progress",
        "metadata": dict(file.attributes),
        "chunk_tokens": file.tokens,
        "chunk_overlap": file.overlap,
        "work": ids.new_key(),
        "lease_owner": owner,
        "lease_until": indexing.lease_end(now),
        "created_at": to_datetime(now),
    }


def _existing(store: int, names: Sequence[str]) -> list[int]:
    rows = VectorDocument.objects.filter(vector_db_id=store, document_id__in=names)
    return list(rows.values_list("pk", flat=True))


def _files(actor: Actor, new_files: Sequence[NewStoreFile], action: Action) -> dict[str, dict[str, Any]]:
    """What documents take over from their files, by the files' ids."""
    keys = {file.file_id: ids.parse_openai(ids.Kind.FILE, file.file_id) for file in new_files}
    rows = files.visible(actor, action).filter(pk__in=[key for key in keys.values() if key is not None])
    visible = {key: (name, mime) for key, name, mime in rows.values_list("pk", "filename", "mime_type")}
    for public, key in keys.items():
        if key not in visible:
            raise files.missing(public)
    return {
        public: {"file_id": key, "name": visible[key][0], "mime_type": visible[key][1]} for public, key in keys.items()
    }


# ------------------------------------------------------------------------------------------------ reading


def _rows(actor: Actor, store: str, action: Action) -> Any:
    key = vector_stores.get(actor, store, action).key
    return VectorDocument.objects.filter(vector_db_id=key, file__isnull=False)


def get(actor: Actor, store: str, file: str, action: Action = "read") -> StoreFile:
    """A file of a store. Raises NotFound."""
    row = _rows(actor, store, action).filter(document_id=file[:256]).values_list(*_COLUMNS).first()
    if row is None:
        raise _missing(file)
    return _record(row)


def listing(
    actor: Actor, store: str, cursor: Cursor, *, status: str = "", batch: str | None = None
) -> tuple[list[StoreFile], bool]:
    """A page of a store's files, or of one of its batches, of one status if so asked; and whether there are
    more behind it. Raises NotFound, and InvalidRequest for a cursor that is no file of the store."""
    rows = _rows(actor, store, "read")
    bounds = Bounds(
        _edge(rows, cursor.after, "after"), _edge(rows, cursor.before, "before"), cursor.limit, cursor.newest_first
    )
    if batch is not None:
        rows = rows.filter(batch_id=get_batch(actor, store, batch).key)
    if status:
        rows = rows.filter(status=status)
    page, has_more = keyset.page(rows, bounds, *_COLUMNS)
    return [_record(row) for row in page], has_more


def _edge(rows: Any, public: str, param: str) -> int | None:
    if not public:
        return None
    key: int | None = rows.filter(document_id=public[:256]).values_list("pk", flat=True).first()
    if key is None:
        raise InvalidRequest(f"{param}: not the id of a file of this vector store.", param=param)
    return key


READ_BATCH = 64
"""Chunks that are read at once."""


def texts(file: StoreFile) -> Iterator[str]:
    """The chunks of a file that was read already, in order."""
    rows = Chunk.objects.filter(document_id=file.key).order_by("position").values_list("position", "text")
    page = list(rows[:READ_BATCH])
    while page:
        yield from (text for _, text in page)
        page = list(rows.filter(position__gt=page[-1][0])[:READ_BATCH])


# ----------------------------------------------------------------------------------------------- changing


def describe(actor: Actor, store: str, file: str, attributes: Mapping[str, Any]) -> StoreFile:
    """Give a file of a store other attributes. Raises NotFound."""

    def job() -> None:
        rows = _rows(actor, store, "run").filter(document_id=file[:256])
        row = rows.values_list("pk", "document_id", "name").first()
        if row is None:
            raise _missing(file)
        rows.update(metadata=dict(attributes))
        Chunk.objects.filter(document_id=row[0]).update(metadata=indexing.chunk_metadata(row[1], row[2], attributes))

    writer.write(job)
    return get(actor, store, file, "run")


def remove(actor: Actor, store: str, file: str) -> None:
    """Take a file out of a store; the file itself stays. Raises NotFound."""

    def job() -> None:
        keys = list(_rows(actor, store, "manage").filter(document_id=file[:256]).values_list("pk", flat=True))
        if not keys:
            raise _missing(file)
        indexing.drop(keys)

    writer.write(job)


def _missing(file: str) -> NotFound:
    return NotFound(f"File '{file[:80]}' not found in this vector store.", code="file_not_found")


# ------------------------------------------------------------------------------------------------ batches


def get_batch(actor: Actor, store: str, batch: str, action: Action = "read") -> BatchRecord:
    """A batch of a store. Raises NotFound."""
    db, key = vector_stores.get(actor, store, action).key, ids.parse_openai(ids.Kind.FILE_BATCH, batch)
    rows = FileBatch.objects.filter(pk=key or 0, vector_db_id=db)
    row = rows.values_list("pk", "created_at", "cancelled").first()
    if row is None:
        raise NotFound(f"File batch '{batch[:80]}' not found.", code="file_batch_not_found")
    counts, _ = vector_stores.document_counts(Q(batch_id=row[0]), "batch_id")
    return BatchRecord(row[0], to_us(row[1]), row[2], counts.get(row[0], {}))


def cancel(actor: Actor, store: str, batch: str) -> BatchRecord:
    """Stop what of a batch is not done yet; nothing happens where all is. Raises NotFound."""

    def job() -> None:
        record = get_batch(actor, store, batch, "run")
        rows = VectorDocument.objects.filter(batch_id=record.key, status="in_progress")
        if rows.update(status="cancelled", lease_until=None):
            FileBatch.objects.filter(pk=record.key).update(cancelled=True)

    writer.write(job)
    return get_batch(actor, store, batch, "run")
