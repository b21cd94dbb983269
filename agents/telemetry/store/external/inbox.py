"""Stores spans as they arrive, before anything is made of them: after one commit the sender may forget them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from agents.base import ids
from agents.base.access import Actor
from agents.base.store import encoding
from agents.base.store.sql import Insert, SelectAmong, execute
from agents.base.store.writer import writer
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external.owners import Owner, external_id, owner_of

_ADD_TRACE = Insert(
    Trace,
    "id owner_id scope_id foreign_id conversation service is_bare arrived projected span_count turn_count "
    "received_at updated_at",
    once=True,
)
_FIND = SelectAmong(Trace, "foreign_id id", "foreign_id", "owner_id = %s AND scope_id = %s")
_ADD_BATCH = Insert(SpanBatch, "id trace_id digest spans encoding body", once=True)
_COUNT_BATCH = (
    "UPDATE agents_trace SET arrived = arrived + 1, span_count = span_count + %s, updated_at = %s WHERE id = %s"
)


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
        writer.write(lambda: _store(owner_of(actor), batches))
    return sum(batch.spans for batch in batches)


def _by_trace(spans: Iterable[Span]) -> dict[str, list[Span]]:
    by_trace: dict[str, list[Span]] = {}
    for span in spans:
        by_trace.setdefault(span.trace, []).append(span)
    return by_trace


def _pack(trace: str, spans: Sequence[Span]) -> _Batch:
    body = msgspec.json.encode(spans)
    packed, stored = encoding.pack(body)
    return _Batch(external_id(trace), len(spans), blake2b(body, digest_size=16).digest(), packed, stored)


def _store(owner: Owner, batches: Sequence[_Batch]) -> None:
    now = ids.now_us()
    stored = _stored_keys(owner, batches)
    _create_traces(owner, [batch for batch in batches if batch.trace not in stored], now)
    for batch in batches:
        if batch.trace in stored:
            _extend_trace(stored[batch.trace], batch, now)


def _stored_keys(owner: Owner, batches: Sequence[_Batch]) -> dict[str, int]:
    return dict(_FIND.all([batch.trace for batch in batches], owner.user, owner.scope))


def _create_traces(owner: Owner, batches: Sequence[_Batch], now_us: int) -> None:
    """Insert traces that were never reported before, with their first batch."""
    keyed = [(ids.new_key(), batch) for batch in batches]
    _ADD_TRACE.execute_many(
        (key, owner.user, owner.scope, batch.trace, "", "", False, 1, 0, batch.spans, 0, now_us, now_us)
        for key, batch in keyed
    )
    stored = _stored_keys(owner, batches)
    _ADD_BATCH.execute_many(_row(key, batch) for key, batch in keyed if stored[batch.trace] == key)
    for key, batch in keyed:
        if stored[batch.trace] != key:  # another process inserted it at the same time
            _extend_trace(stored[batch.trace], batch, now_us)


def _extend_trace(trace: int, batch: _Batch, now_us: int) -> None:
    if _ADD_BATCH.execute(*_row(trace, batch)):
        execute(_COUNT_BATCH, batch.spans, now_us, trace)


def _row(trace: int, batch: _Batch) -> tuple[object, ...]:
    return ids.new_key(), trace, batch.digest, batch.spans, batch.encoding, batch.body
