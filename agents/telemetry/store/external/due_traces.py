"""Traces of which more has arrived than their turns are made of, and what is stored of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from agents.base.store import encoding
from agents.base.store.sql import Select, SelectAmong
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.stored_spans import first_spans
from agents.telemetry.store.external.owners import Owner

_TRACES = SelectAmong(Trace, "id owner_id scope_id foreign_id arrived projected span_count", "id")
_BATCHES = SelectAmong(SpanBatch, "trace_id encoding body", "trace_id", order="id")
_BODIES = Select(SpanBatch, "id", "trace_id = %s ORDER BY id")
_BODY = Select(SpanBatch, "encoding body", "id = %s")
_SENDERS = Select(Trace, "owner_id", "arrived > projected GROUP BY owner_id ORDER BY owner_id")
_DUE, _DUE_LARGE, _DUE_UNOWNED, _DUE_LARGE_UNOWNED = (
    Select(
        Trace,
        "id span_count",
        f"arrived > projected AND owner_id {whose} AND span_count {size} ORDER BY updated_at LIMIT %s",
    )
    for whose in ("= %s", "IS NULL")
    for size in ("<= %s", "> %s")
)
MAX_TRACES_PER_PASS = 128
"""Traces of one pass."""
MAX_SPANS_PER_PASS = 5_000
"""Spans of one pass: they are in memory together."""
LARGE_TRACE_SPANS = 1_000
"""Spans of a trace that is read in a process of its own, and stored a slice at a time."""
LARGE_TRACE_BYTES = 4 * 2**20
"""Stored bytes of a trace from which on it counts as large, however few its spans."""

Sender = int | None
"""The id of a user; None for those who are deleted."""


def senders() -> list[Sender]:
    """The senders of traces with something new."""
    return [sender for (sender,) in _SENDERS.all()]


def next_pass(resting: Collection[int] = (), *, large: bool = False) -> list[int]:
    """Traces of one pass, of any sender; see `pass_of`."""
    return next((traces for sender in senders() if (traces := pass_of(sender, resting, large=large))), [])


def pass_of(sender: Sender, resting: Collection[int] = (), *, large: bool = False) -> list[int]:
    """Traces of one pass: those of a sender with something new, the longest waiting first, but for those that
    rest; large ones by themselves, one at a time."""
    traces, room, limit = list[int](), MAX_SPANS_PER_PASS, 1 if large else MAX_TRACES_PER_PASS
    for key, spans in _due_rows(sender, large, limit + len(resting)):
        if key in resting:
            continue
        room -= spans
        if traces and (room < 0 or len(traces) == limit):
            break
        traces.append(key)
    return traces


def _due_rows(sender: Sender, large: bool, limit: int) -> list[tuple[int, int]]:
    if sender is None:
        return (_DUE_LARGE_UNOWNED if large else _DUE_UNOWNED).all(LARGE_TRACE_SPANS, limit)
    return (_DUE_LARGE if large else _DUE).all(sender, LARGE_TRACE_SPANS, limit)


def still_due(traces: Collection[int]) -> set[int]:
    """Those of these traces that have something new."""
    return {key for key, _, _, _, arrived, projected, _ in _TRACES.all(list(traces)) if arrived > projected}


def large_among(traces: Sequence[int]) -> set[int]:
    """Those of these traces that are large by their number of spans."""
    return {key for key, *_, spans in _TRACES.all(traces) if spans > LARGE_TRACE_SPANS}


def spans_of(trace: int) -> list[Span]:
    """The spans of a trace in the order they arrived: the first `agents.telemetry.reading.stored_spans.MAX_SPANS`."""
    return first_spans(bodies_of(trace))


def bodies_of(trace: int) -> Iterator[bytes]:
    """The reports of a trace as JSON, in the order they arrived, one at a time in memory."""
    for (key,) in _BODIES.all(trace):
        if (row := _BODY.first(key)) is not None:
            yield encoding.unpack(row[0], bytes(row[1]))


@dataclass(frozen=True, slots=True)
class DueTrace:
    """A trace with something new. ``bodies`` are (encoding, stored bytes), in the order they arrived; ``spans``
    counts what is in them."""

    key: int
    owner: Owner
    external_id: str
    arrived: int
    projected: int
    spans: int
    bodies: list[tuple[int, bytes]]

    @property
    def is_large(self) -> bool:
        return self.spans > LARGE_TRACE_SPANS or sum(len(body) for _, body in self.bodies) > LARGE_TRACE_BYTES


def load(traces: Sequence[int]) -> Iterator[DueTrace]:
    """Load those of these traces that still have something new, with what is stored of them."""
    rows = {row[0]: row[1:] for row in _TRACES.all(traces)}  # before the bodies, so that none counts that is not read
    bodies: dict[int, list[tuple[int, bytes]]] = {}
    for trace, kind, body in _BATCHES.all([trace for trace, row in rows.items() if row[-1] <= LARGE_TRACE_SPANS]):
        bodies.setdefault(trace, []).append((kind, body))
    for trace in traces:
        if trace not in rows:
            continue
        user, scope, external_id, arrived, projected, spans = rows[trace]
        if arrived > projected:
            yield DueTrace(trace, Owner(user, scope), external_id, arrived, projected, spans, bodies.get(trace, []))
