"""Batches as their owners see them: made, read, listed, cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.batches.models import RequestBatch
from agents.batches.schemas.batches import CreateBatch
from agents.knowledge.store import files

WINDOW_US = 86_400_000_000
MAX_OPEN = 100
"""Batches that one user may have under way."""
OPEN = ("validating", "in_progress", "finalizing", "cancelling")


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch with its columns, by their names; moments are datetimes."""

    columns: dict[str, Any]

    @property
    def key(self) -> int:
        return int(self.columns["id"])


def create(actor: Actor, wanted: CreateBatch) -> BatchRow:
    """Make a batch of a file that the actor sees. Raises NotFound, and InvalidRequest where it is for something else,
    or the actor has too many."""
    file = files.get(actor, wanted.input_file_id, "run")
    if file.purpose != "batch":
        message = f"input_file_id: a file of the purpose batch is needed, not {file.purpose}."
        raise InvalidRequest(message, param="input_file_id")
    now = ids.now_us()

    def job() -> int:
        own = RequestBatch.objects.unscoped("the maker's own").filter(owner_id=actor.user_id, status__in=OPEN)
        if own.count() >= MAX_OPEN:
            raise InvalidRequest(f"{MAX_OPEN} batches are under way: wait for some.", code="too_many_batches")
        row = RequestBatch(
            endpoint=wanted.endpoint,
            input_file_id=file.public_id,
            metadata=wanted.metadata,
            output_lives_s=wanted.output_expires_after.seconds if wanted.output_expires_after else None,
            api_key_id=actor.key_id,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            created_at=to_datetime(now),
            expires_at=to_datetime(now + WINDOW_US),
        )
        row.save(force_insert=True)
        return int(row.pk)

    return get(actor, ids.openai(ids.Kind.BATCH, writer.write(job)), "run")


def get(actor: Actor, public: str, action: Action = "read") -> BatchRow:
    """A batch. Raises NotFound."""
    key = ids.parse_openai(ids.Kind.BATCH, public)
    row = RequestBatch.objects.visible_to(actor, action).filter(pk=key or 0).values().first()
    if row is None:
        raise NotFound(f"Batch '{public[:80]}' not found.", code="batch_not_found")
    return BatchRow(row)


def listing(actor: Actor, cursor: Cursor) -> tuple[list[BatchRow], bool]:
    """A page of batches, and whether there are more behind it. Raises InvalidRequest for a cursor that is no batch's
    id."""
    rows = RequestBatch.objects.visible_to(actor)
    page, has_more = keyset.page(rows, keyset.bounds(ids.Kind.BATCH, cursor, "a batch"), "id")
    keys = [row[0] for row in page]
    batches = {
        row["id"]: BatchRow(row) for row in RequestBatch.objects.unscoped("ids checked").filter(pk__in=keys).values()
    }
    return [batches[key] for key in keys if key in batches], has_more


def cancel(actor: Actor, public: str) -> BatchRow:
    """Begin no more requests of a batch; those that run end. Raises NotFound, and InvalidRequest where it has ended."""
    key = get(actor, public, "run").key
    rows = RequestBatch.objects.unscoped("checked above").filter(pk=key, status__in=("validating", "in_progress"))
    cancelling_at = to_datetime(ids.now_us())
    writer.write(lambda: rows.update(status="cancelling", cancelling_at=cancelling_at))
    row = get(actor, public, "run")
    if row.columns["status"] not in ("cancelling", "cancelled"):
        message = f"A batch that is {row.columns['status']} cannot be cancelled."
        raise InvalidRequest(message, code="batch_over")
    return row
