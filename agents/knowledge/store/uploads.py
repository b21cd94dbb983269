"""Uploads in parts: begun, given parts at once or one after the other, made a file, cancelled.

Parts are kept in blocks until the upload ends or expires. Completing it copies them into a file; the upload stays as
long as it would have lived, so that whoever lost the answer is given it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import F

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, NotFound, TooLarge
from agents.base.store import scopes
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.knowledge.models.uploads import Upload, UploadBlock, UploadPart
from agents.knowledge.schemas.uploads import MAX_PARTS
from agents.knowledge.store import files
from agents.knowledge.store.files import FileRecord, NewFile

LIVES_US = 3_600_000_000
"""How long an upload may take."""
MAX_OPEN = 100
"""Uploads that one user may have begun and not ended."""
MAX_REQUESTS = 16
"""A file in parts may be that many times as large as one that comes in one request."""
SPARE = 2
"""Parts may have that many times the announced bytes together: one is sent again where its answer was lost."""
EXPIRY_BATCH = 20
_COLUMNS = (
    "id",
    "filename",
    "purpose",
    "mime_type",
    "size",
    "lives_s",
    "status",
    "file_id",
    "created_at",
    "expires_at",
)


@dataclass(frozen=True, slots=True)
class UploadRecord:
    """An upload: ``size`` as announced, in bytes; moments in microseconds since 1970. ``stored_status`` does not know
    that time passes."""

    key: int
    filename: str
    purpose: str
    mime_type: str
    size: int
    lives_s: int | None
    stored_status: str
    file: int | None
    created_at: int
    expires_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.UPLOAD, self.key)

    @property
    def status(self) -> str:
        is_over = self.stored_status == "pending" and self.expires_at <= ids.now_us()
        return "expired" if is_over else self.stored_status


# ---------------------------------------------------------------------------------------------- reading


def _rows(actor: Actor, public: str) -> Any:
    key = ids.parse_openai(ids.Kind.UPLOAD, public)
    return Upload.objects.visible_to(actor, "run").filter(pk=key or 0)


def get(actor: Actor, public: str) -> UploadRecord:
    """An upload. Raises NotFound."""
    row = _rows(actor, public).values(*_COLUMNS).first()
    if row is None:
        raise NotFound(f"Upload '{public[:80]}' not found.", code="upload_not_found")
    return UploadRecord(
        key=row["id"],
        filename=row["filename"],
        purpose=row["purpose"],
        mime_type=row["mime_type"],
        size=row["size"],
        lives_s=row["lives_s"],
        stored_status=row["status"],
        file=row["file_id"],
        created_at=to_us(row["created_at"]),
        expires_at=to_us(row["expires_at"]),
    )


def _pending(actor: Actor, public: str) -> UploadRecord:
    record = get(actor, public)
    if record.status != "pending":
        raise InvalidRequest(f"The upload is {record.status}.", code=f"upload_{record.status}")
    return record


# ---------------------------------------------------------------------------------------------- changing


def create(actor: Actor, new: NewFile, size: int) -> UploadRecord:
    """Begin an upload of so many bytes. Raises TooLarge, and InvalidRequest where the actor has too many."""
    most = settings.MAX_UPLOAD_MB * MAX_REQUESTS
    if size > most * 2**20:
        raise TooLarge(f"bytes: more than {most} MiB.", param="bytes")
    now = ids.now_us()

    def job() -> int:
        own = Upload.objects.unscoped("the maker's own").filter(owner_id=actor.user_id, status="pending")
        if own.filter(expires_at__gt=to_datetime(now)).count() >= MAX_OPEN:
            raise InvalidRequest(
                f"More than {MAX_OPEN} uploads are open: complete or cancel some.", code="too_many_uploads"
            )
        row = Upload(
            filename=new.filename[:500],
            purpose=new.purpose,
            mime_type=new.mime_type[:200],
            size=size,
            lives_s=new.lives_s,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            created_at=to_datetime(now),
            expires_at=to_datetime(now + LIVES_US),
        )
        row.save(force_insert=True)
        return int(row.pk)

    return get(actor, ids.openai(ids.Kind.UPLOAD, writer.write(job)))


def add_part(actor: Actor, public: str, size: int, blocks: Iterable[bytes]) -> int:
    """Add a part of so many bytes and return its key. Raises NotFound, InvalidRequest, TooLarge; nothing of it stays
    then."""
    upload = _pending(actor, public).key
    key = writer.write(partial(_begin_part, upload, size))
    try:
        for position, data in enumerate(blocks):
            writer.write(partial(_add_block, key, position, data))
        writer.write(partial(_finish_part, upload, key))
    except BaseException:
        writer.write(partial(_drop_part, upload, key, size))
        raise
    return key


def _begin_part(upload: int, size: int) -> int:
    """Reserve room for a part, so that many at once are no more than may be."""
    rows = Upload.objects.unscoped("checked by the caller").filter(pk=upload, status="pending")
    room = rows.filter(received__lte=F("size") * SPARE - size, part_count__lt=MAX_PARTS)
    if not room.update(received=F("received") + size, part_count=F("part_count") + 1):
        if not rows.exists():
            raise InvalidRequest("The upload has ended.", code="upload_ended")
        raise TooLarge("data: the parts have more bytes than were announced, or are too many.", param="data")
    row = UploadPart(upload_id=upload, size=size)
    row.save(force_insert=True)
    return int(row.pk)


def _add_block(part: int, position: int, data: bytes) -> None:
    if not UploadPart.objects.filter(pk=part).exists():
        raise InvalidRequest("The upload has ended.", code="upload_ended")
    UploadBlock(part_id=part, position=position, data=data).save(force_insert=True)


def _finish_part(upload: int, part: int) -> None:
    if not UploadPart.objects.filter(pk=part, upload_id=upload).update(stored=True):
        raise InvalidRequest("The upload has ended.", code="upload_ended")


def _drop_part(upload: int, part: int, size: int) -> None:
    UploadBlock.objects.filter(part_id=part)._raw_delete("default")
    if UploadPart.objects.filter(pk=part)._raw_delete("default"):
        rows = Upload.objects.unscoped("checked by the caller").filter(pk=upload)
        rows.update(received=F("received") - size, part_count=F("part_count") - 1)


def complete(actor: Actor, public: str, part_ids: Sequence[str], md5: str | None) -> tuple[UploadRecord, FileRecord]:
    """Make a file of these parts, in this order; one that is completed already is returned as it is. Raises NotFound,
    and InvalidRequest where a part is not of the upload, or size or checksum are not those announced."""
    record = get(actor, public)
    if record.status == "completed":
        return record, _file_of(actor, record)
    record = _pending(actor, public)
    parts = _parts(record, part_ids)
    new = NewFile(record.filename, record.purpose, record.mime_type, record.lives_s)
    file = files.create(actor, new, _checked(files.even_blocks(_contents(parts)), md5))

    def job() -> bool:
        rows = Upload.objects.unscoped("checked above").filter(pk=record.key, status="pending")
        if not rows.update(status="completed", file_id=file.key):
            files.drop([file.key])
            return False
        _drop_parts([record.key])
        return True

    if not writer.write(job):
        record = get(actor, public)
        if record.status != "completed":
            raise InvalidRequest(f"The upload is {record.status}.", code=f"upload_{record.status}")
        return record, _file_of(actor, record)
    return get(actor, public), file


def _file_of(actor: Actor, record: UploadRecord) -> FileRecord:
    return files.get(actor, ids.openai(ids.Kind.FILE, record.file or 0), "run")


def _parts(upload: UploadRecord, part_ids: Sequence[str]) -> list[int]:
    keys = [ids.parse_openai(ids.Kind.UPLOAD_PART, part) for part in part_ids]
    stored = UploadPart.objects.filter(upload_id=upload.key, stored=True)
    sizes = dict(stored.values_list("pk", "size"))
    parts: list[int] = []
    for position, key in enumerate(keys):
        if key is None or key not in sizes:
            raise InvalidRequest(f"part_ids.{position}: not a part of this upload.", param=f"part_ids.{position}")
        parts.append(key)
    if len(set(parts)) < len(parts):
        raise InvalidRequest("part_ids: a part is named twice.", param="part_ids")
    total = sum(sizes[key] for key in parts)
    if total != upload.size:
        message = f"part_ids: the parts have {total:,} bytes, {upload.size:,} were announced."
        raise InvalidRequest(message, param="part_ids", code="bytes_mismatch")
    return parts


def _contents(parts: Sequence[int]) -> Iterator[bytes]:
    for part in parts:
        rows, position = UploadBlock.objects.filter(part_id=part).values_list("data", flat=True), 0
        while (data := rows.filter(position=position).first()) is not None:
            yield bytes(data)
            position += 1


def _checked(blocks: Iterable[bytes], md5: str | None) -> Iterator[bytes]:
    digest = hashlib.md5(usedforsecurity=False)
    for block in blocks:
        digest.update(block)
        yield block
    if md5 is not None and digest.hexdigest() != md5.lower():
        raise InvalidRequest("md5: the parts have another checksum.", param="md5", code="md5_mismatch")


def cancel(actor: Actor, public: str) -> UploadRecord:
    """End an upload without a file; one that is cancelled stays so. Raises NotFound, and InvalidRequest for one that is
    completed."""

    def job() -> None:
        record = get(actor, public)
        if record.status == "completed":
            raise InvalidRequest("The upload is completed.", code="upload_completed")
        rows = Upload.objects.unscoped("checked above").filter(pk=record.key, status="pending")
        if record.status != "expired" and rows.update(status="cancelled"):
            _drop_parts([record.key])

    writer.write(job)
    return get(actor, public)


# ---------------------------------------------------------------------------------------------- deleting


def _drop_parts(uploads: Sequence[int]) -> None:
    parts = UploadPart.objects.filter(upload_id__in=uploads)
    UploadBlock.objects.filter(part_id__in=list(parts.values_list("pk", flat=True)))._raw_delete("default")
    parts._raw_delete("default")


def expire(now_us: int) -> int:
    """Delete uploads whose time is over, with what has come of them; returns how many. The files of those that are
    completed stay."""
    rows = Upload.objects.unscoped("retention").filter(expires_at__lt=to_datetime(now_us))
    keys = list(rows.values_list("pk", flat=True)[:EXPIRY_BATCH])

    def job() -> None:
        _drop_parts(keys)
        Upload.objects.unscoped("retention").filter(pk__in=keys)._raw_delete("default")

    if keys:
        writer.write(job)
    return len(keys)
