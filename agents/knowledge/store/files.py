"""Uploaded files: stored block by block, read, listed, deleted.

An upload is many small writes, so that it keeps neither the memory nor the writer; the file is there for others
when its last block is. A file is gone the moment it expires, its rows with the next round of retention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.fields import storable
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us, us_or_none
from agents.knowledge.models.files import File, FileBlock
from agents.knowledge.models.uploads import Upload
from agents.knowledge.store import indexing

BLOCK_BYTES = 256 * 1024
"""Bytes of a block."""
UNFINISHED_US = 3_600_000_000
"""After that long an upload that has not ended is taken for broken off."""
EXPIRY_BATCH = 100
_COLUMNS = ("id", "filename", "purpose", "mime_type", "size", "created_at", "expires_at")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as the rest of the house sees it: ``size`` in bytes, moments in microseconds since 1970."""

    key: int
    filename: str
    purpose: str
    mime_type: str
    size: int
    created_at: int
    expires_at: int | None

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.FILE, self.key)


@dataclass(frozen=True, slots=True)
class NewFile:
    """What is known of a file before its content comes; ``lives_s`` are seconds until it expires."""

    filename: str
    purpose: str
    mime_type: str = ""
    lives_s: int | None = None


def _record(row: Iterable[Any]) -> FileRecord:
    key, filename, purpose, mime_type, size, created, expires = row
    return FileRecord(key, filename, purpose, mime_type, size, to_us(created), us_or_none(expires))


# ----------------------------------------------------------------------------------------------- writing


def create(actor: Actor, new: NewFile, blocks: Iterable[bytes]) -> FileRecord:
    """Store a file whose content comes in blocks of `BLOCK` bytes (the last may be shorter). When they end
    with an error nothing of it stays."""
    now = ids.now_us()
    key = writer.write(lambda: _begin(actor, new, now))
    size = 0
    try:
        for position, data in enumerate(blocks):
            size += len(data)
            writer.write(partial(_add_block, key, position, data))
        expires = now + new.lives_s * 1_000_000 if new.lives_s else None
        writer.write(lambda: _finish(key, size, expires))
    except BaseException:
        writer.write(lambda: drop([key]))
        raise
    return FileRecord(key, storable(new.filename[:500]), new.purpose, new.mime_type[:200], size, now, expires)


def even_blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut content that comes in pieces of any size into blocks of a file."""
    rest = bytearray()
    for piece in pieces:
        rest += piece
        while len(rest) >= BLOCK_BYTES:
            yield bytes(rest[:BLOCK_BYTES])
            del rest[:BLOCK_BYTES]
    if rest:
        yield bytes(rest)


def _begin(actor: Actor, new: NewFile, now: int) -> int:
    row = File(
        filename=new.filename[:500],
        purpose=new.purpose,
        mime_type=new.mime_type[:200],
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        created_at=to_datetime(now),
        expires_at=to_datetime(now + UNFINISHED_US),
    )
    row.save(force_insert=True)
    return int(row.pk)


def _add_block(file: int, position: int, data: bytes) -> None:
    FileBlock(file_id=file, position=position, data=data).save(force_insert=True)


def _finish(key: int, size: int, expires: int | None) -> None:
    rows = File.objects.unscoped("being uploaded").filter(pk=key)
    if not rows.update(stored=True, size=size, expires_at=None if expires is None else to_datetime(expires)):
        raise InvalidRequest("file: the upload took too long.", param="file")


def delete(actor: Actor, public: str) -> None:
    """Delete a file, also out of the vector stores it is in. Raises NotFound."""

    def job() -> None:
        drop([get(actor, public, "manage").key])

    writer.write(job)


def drop(keys: list[int]) -> None:
    """Delete files within the caller's transaction."""
    indexing.drop_files(keys)
    FileBlock.objects.filter(file_id__in=keys)._raw_delete("default")
    # the uploads that they came by: these have no parts any more
    Upload.objects.unscoped("of these files").filter(file_id__in=keys)._raw_delete("default")
    File.objects.unscoped("delete").filter(pk__in=keys)._raw_delete("default")


def expire(now_us: int) -> int:
    """Delete the files whose time is over, and uploads that were broken off; returns how many."""
    rows = File.objects.unscoped("retention").filter(expires_at__lt=to_datetime(now_us))
    keys = list(rows.values_list("pk", flat=True)[:EXPIRY_BATCH])
    if keys:
        writer.write(lambda: drop(keys))
    return len(keys)


# ----------------------------------------------------------------------------------------------- reading


def visible(actor: Actor, action: Action = "read") -> Any:
    """The files that are there for an actor."""
    lives = Q(expires_at=None) | Q(expires_at__gt=to_datetime(ids.now_us()))
    return File.objects.visible_to(actor, action).filter(lives, stored=True)


def get(actor: Actor, public: str, action: Action = "read") -> FileRecord:
    """A file. Raises NotFound."""
    row = visible(actor, action).filter(pk=_key(public)).values_list(*_COLUMNS).first()
    if row is None:
        raise missing(public)
    return _record(row)


def listing(actor: Actor, cursor: Cursor, *, purpose: str = "") -> tuple[list[FileRecord], bool]:
    """A page of files, of one purpose if so asked, and whether there are more behind it. Raises
    InvalidRequest for a cursor that is no file's id."""
    rows = visible(actor)
    if purpose:
        rows = rows.filter(purpose=purpose)
    bounds = keyset.bounds(ids.Kind.FILE, cursor, "a file")
    page, has_more = keyset.page(rows, bounds, *_COLUMNS)
    return [_record(row) for row in page], has_more


def block(key: int, position: int) -> bytes | None:
    """A block of a file the actor was let into; None behind the last."""
    rows = FileBlock.objects.filter(file_id=key, position=position)
    data = rows.values_list("data", flat=True).first()
    return None if data is None else bytes(data)


def blocks(key: int) -> Iterator[bytes]:
    """All blocks of a file the actor was let into, in order."""
    position = 0
    while (data := block(key, position)) is not None:
        yield data
        position += 1


def _key(public: str) -> int:
    key = ids.parse_openai(ids.Kind.FILE, public)
    if key is None:
        raise missing(public)
    return key


def missing(public: str) -> NotFound:
    """What is said of a file that is not there for somebody."""
    return NotFound(f"File '{public[:80]}' not found.", code="file_not_found")
