"""Stores spans as they arrive, before anything is made of them: after one commit the sender may forget them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from agents.base import ids, metrics
from agents.base.access import Actor
from agents.base.store import encoding
from agents.base.store.sql import Insert, SelectAmong
from agents.base.store.writer import last_writes, writer
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external.owners import Owner, external_id, owner_of
from agents.telemetry.store.external.trace_updates import trace_updates

_ADD_TRACE = Insert(
    Trace,
    "id owner_id scope_id foreign_id conversation service is_bare arrived projected span_count turn_count "
    "received_at updated_at",
    once=True,
)
_FIND = SelectAmong(Trace, "foreign_id id", "foreign_id", "owner_id = %s AND scope_id = %s")
_ADD_BATCH = Insert(SpanBatch, "id trace_id digest spans encoding body", once=True)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Spans of one trace, packed outside the writer."""

    trace: str
    spans: int
    digest: bytes
    encoding: int
    body: bytes


def accept(actor: Actor, spans: Iterable[Span]) -> int:
    """Store these spans; returns how many there were. A batch that was stored already is skipped."""
    batches = [_pack(trace, trace_spans) for trace, trace_spans in _by_trace(spans).items()]
    if batches:
        writer.write(lambda: arrivals.note(owner_of(actor), batches))
    received = sum(batch.spans for batch in batches)
    metrics.count_spans(received)
    return received


def _by_trace(spans: Iterable[Span]) -> dict[str, list[Span]]:
    by_trace: dict[str, list[Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace, []).append(span)
    return by_trace


def _pack(trace: str, spans: Sequence[Span]) -> _Batch:
    body = msgspec.json.encode(spans)
    packed, stored = encoding.pack(body)
    return _Batch(external_id(trace), len(spans), blake2b(body, digest_size=16).digest(), packed, stored)


class Arrivals:
    """Reports that are stored at the end of a transaction, by sender and trace: many senders report spans of one
    trace, each to another process."""

    def __init__(self) -> None:
        self._noted = threading.local()

    def note(self, owner: Owner, batches: Sequence[_Batch]) -> None:
        """Store these batches with the transaction."""
        noted: dict[Owner, list[_Batch]] = self._noted.__dict__.setdefault("batches", {})
        noted.setdefault(owner, []).extend(batches)

    def forget(self) -> None:
        self._noted.__dict__.clear()

    def flush(self) -> None:
        noted: dict[Owner, list[_Batch]] = self._noted.__dict__.pop("batches", {})
        for owner in sorted(noted, key=lambda owner: (owner.user, owner.scope)):
            _store(owner, noted[owner], ids.now_us())


arrivals = Arrivals()


def _store(owner: Owner, batches: Sequence[_Batch], now_us: int) -> None:
    names = sorted({batch.trace for batch in batches})
    stored = dict(_FIND.all(names, owner.user, owner.scope))
    new = [name for name in names if name not in stored]
    _ADD_TRACE.execute_many(
        (ids.new_key(), owner.user, owner.scope, name, "", "", False, 0, 0, 0, 0, now_us, now_us) for name in new
    )
    stored |= dict(_FIND.all(new, owner.user, owner.scope))  # another process may have inserted one at the same time
    for trace, batch in sorted(((stored[batch.trace], batch) for batch in batches), key=_order):
        if _ADD_BATCH.execute(ids.new_key(), trace, batch.digest, batch.spans, batch.encoding, batch.body):
            trace_updates.count(trace, batch.spans, now_us)


def _order(arrival: tuple[int, _Batch]) -> tuple[int, bytes]:
    trace, batch = arrival
    return trace, batch.digest


last_writes.append(arrivals)
last_writes.append(trace_updates)
