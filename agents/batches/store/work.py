"""The work on batches: claimed by one process, its lines stored, answered and made into files.

A claim has a number, which the batch holds: what an earlier claim still brings is thrown away. An answer is stored with
the sums of its batch in one transaction, so that no line is counted twice, or run again once it has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F

from agents.base import ids
from agents.base.store import processes
from agents.base.store.encoding import pack, unpack
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.batches.models import BatchLine, RequestBatch
from agents.batches.schemas.lines import RequestLine
from agents.batches.store.batches import OPEN
from agents.record.schemas.content import Usage

READ_TOGETHER, DELETED_TOGETHER = 32, 500


@dataclass(frozen=True, slots=True)
class BatchClaim:
    """A batch that a process runs: ``number`` tells this claim from others. ``created_at`` and ``expires_at`` are
    microseconds since 1970."""

    key: int
    number: int
    endpoint: str
    input_file_id: str
    owner: int | None
    api_key: int | None
    scope: int
    output_lives_s: int | None
    expires_at: int

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.BATCH, self.key)


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """A request that has no answer."""

    key: int
    number: int
    body: bytes


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """What came of a request."""

    status_code: int
    answer: bytes
    usage: Usage

    @property
    def is_completed(self) -> bool:
        return self.status_code == 200


# --------------------------------------------------------------------------------------------- claiming


def claim(process: str, limit: int) -> list[BatchClaim]:
    """Claim batches that no living process runs, the oldest first."""
    rows = RequestBatch.objects.unscoped("work").filter(status__in=OPEN).order_by("pk")
    claimed = list(rows.values_list("pk", "claimed_by", "claims"))
    alive = processes.living({holder for _, holder, _ in claimed if holder}) if claimed else frozenset()
    free = [row for row in claimed if row[1] not in alive][:limit]

    def job() -> list[int]:
        return [
            key
            for key, holder, number in free
            if RequestBatch.objects.unscoped("work")
            .filter(pk=key, claimed_by=holder, claims=number, status__in=OPEN)
            .update(claimed_by=process, claims=number + 1)
        ]

    return [_claim_of(key) for key in writer.write(job)] if free else []


_CLAIM = ("claims", "endpoint", "input_file_id", "owner_id", "api_key_id", "scope_id", "output_lives_s")


def _claim_of(key: int) -> BatchClaim:
    row = RequestBatch.objects.unscoped("claimed").values(*_CLAIM, "expires_at").get(pk=key)
    return BatchClaim(
        key=key,
        number=row["claims"],
        endpoint=row["endpoint"],
        input_file_id=row["input_file_id"],
        owner=row["owner_id"],
        api_key=row["api_key_id"],
        scope=row["scope_id"],
        output_lives_s=row["output_lives_s"],
        expires_at=to_us(row["expires_at"]),
    )


def release(process: str) -> None:
    """Leave the batches of this process to others."""
    rows = RequestBatch.objects.unscoped("its own").filter(claimed_by=process, status__in=OPEN)
    if rows.exists():
        writer.write(lambda: rows.update(claimed_by=""))


def give_back(held: BatchClaim) -> None:
    """Leave a batch to whoever claims it next."""
    writer.write(lambda: _held(held).update(claimed_by=""))


def _held(held: BatchClaim) -> Any:
    """The batch, while the claim counts."""
    return RequestBatch.objects.unscoped("claimed").filter(pk=held.key, claims=held.number)


def status(held: BatchClaim) -> str:
    """How far a batch is; empty when another process has claimed it."""
    return _held(held).exclude(claimed_by="").values_list("status", flat=True).first() or ""


def set_status(held: BatchClaim, new: str, *, of: Sequence[str], **changes: Any) -> bool:
    """Change the status of a batch that has one of those ``of``, and note when; False where it has another one."""
    moment = {f"{new}_at": to_datetime(ids.now_us())}
    return bool(writer.write(lambda: _held(held).filter(status__in=of).update(status=new, **moment, **changes)))


def set_facts(held: BatchClaim, total: int, model: str) -> None:
    """Note how many requests a batch has, and the model that all of them name."""
    writer.write(lambda: _held(held).update(total=total, model=model))


# ---------------------------------------------------------------------------------------------- lines


def clear_lines(held: BatchClaim) -> None:
    """Delete the lines of a batch."""
    rows = BatchLine.objects.filter(batch_id=held.key).order_by("number").values_list("pk", flat=True)
    while keys := list(rows[:DELETED_TOGETHER]):
        writer.write(partial(BatchLine.objects.filter(pk__in=keys)._raw_delete, "default"))


def add_lines(held: BatchClaim, requests: Sequence[RequestLine]) -> None:
    """Store requests."""
    rows = []
    for request in requests:
        encoding, body = pack(request.body)
        rows.append(
            BatchLine(
                batch_id=held.key,
                number=request.number,
                custom_id=request.custom_id,
                encoding=encoding,
                body=body,
            )
        )
    writer.write(lambda: BatchLine.objects.bulk_create(rows))


def waiting(held: BatchClaim, after: int) -> list[WaitingLine]:
    """The next requests behind the line ``after`` that have no answer."""
    rows = BatchLine.objects.filter(batch_id=held.key, number__gt=after, status_code=None).order_by("number")
    lines = rows.values_list("pk", "number", "encoding", "body")[:READ_TOGETHER]
    return [WaitingLine(key, number, unpack(encoding, body)) for key, number, encoding, body in lines]


def answer(held: BatchClaim, line: int, given: LineAnswer) -> bool:
    """Store the answer of a line, and count it; False where the claim counts no more, or the line has one."""
    encoding, stored = pack(given.answer)

    def job() -> bool:
        rows = BatchLine.objects.filter(pk=line, batch_id=held.key, status_code=None)
        if _held(held).select_for_update().first() is None:
            return False
        if not rows.update(status_code=given.status_code, answer_encoding=encoding, answer=stored):
            return False
        counted = "completed" if given.is_completed else "failed"
        _held(held).update(
            **{counted: F(counted) + 1},
            input_tokens=F("input_tokens") + given.usage.input_tokens,
            cached_tokens=F("cached_tokens") + given.usage.cached_tokens,
            output_tokens=F("output_tokens") + given.usage.output_tokens,
            reasoning_tokens=F("reasoning_tokens") + given.usage.reasoning_tokens,
        )
        return True

    return writer.write(job)


# ---------------------------------------------------------------------------------------------- files


def made_files(held: BatchClaim) -> tuple[int | None, int | None]:
    """The keys of the files of answers and of errors that are made already."""
    output, error = _held(held).values_list("output_file", "error_file").get()
    return output, error


def set_file(held: BatchClaim, column: str, key: int) -> bool:
    """Note a file that is made; False where the claim counts no more."""
    return bool(writer.write(lambda: _held(held).update(**{column: key})))


@dataclass(frozen=True, slots=True)
class EndedLine:
    """A request for the files: ``answer`` is empty where it has none."""

    key: int
    custom_id: str
    answer: bytes = b""

    @property
    def public_id(self) -> str:
        return ids.part("batch_req", ids.Kind.BATCH_LINE, self.key)


def answered(held: BatchClaim, *, is_completed: bool) -> Iterator[EndedLine]:
    """The requests with an answer that is no error, or with one that is, in their order."""
    rows = BatchLine.objects.filter(batch_id=held.key, status_code__isnull=False).order_by("number")
    rows, after = (rows.filter(status_code=200) if is_completed else rows.exclude(status_code=200)), 0
    columns = ("number", "pk", "custom_id", "answer_encoding", "answer")
    while page := list(rows.filter(number__gt=after).values_list(*columns)[:READ_TOGETHER]):
        after = page[-1][0]
        for _, key, custom_id, encoding, stored in page:
            yield EndedLine(key, custom_id, unpack(encoding, stored))


def unanswered(held: BatchClaim) -> Iterator[EndedLine]:
    """The requests without an answer, in their order."""
    rows, after = BatchLine.objects.filter(batch_id=held.key, status_code=None).order_by("number"), 0
    while page := list(rows.filter(number__gt=after).values_list("number", "pk", "custom_id")[:DELETED_TOGETHER]):
        after = page[-1][0]
        for _, key, custom_id in page:
            yield EndedLine(key, custom_id)
