"""Projects reported spans into turns, again whenever more of a trace has arrived. The outcome is the same in whatever
order the spans arrived."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from django.db.utils import IntegrityError, InterfaceError, OperationalError
from msgspec.structs import replace

from agents.base.store import encoding, portions
from agents.base.store.sql import Select, SelectAmong
from agents.base.store.writer import writer
from agents.record.models.choices import Source
from agents.record.models.turns import Turn
from agents.record.store.deletion import delete_turns
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading import turns
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.trace_worker import TurnHead, first_spans
from agents.telemetry.reading.turn_warnings import trace_truncated
from agents.telemetry.store.external import large_turns, reader_process, related_traces, turn_order, write_turns
from agents.telemetry.store.external.backpressure import ingest_load
from agents.telemetry.store.external.owners import Owner
from agents.telemetry.store.external.trace_updates import trace_updates
from agents.telemetry.store.external.write_turns import PreparedTurn

log = logging.getLogger(__name__)

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
_TURNS_OF_TRACE = Select(
    Turn, "id session_id foreign_id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s"
)
_TRACE_EXISTS = Select(Trace, "id", "id = %s")
SOURCES = {"otlp": Source.OTLP, "openai_agents": Source.OPENAI_AGENTS, "langsmith": Source.LANGSMITH}
"""The sources of turns by the format of their spans; spans of other formats are imported."""
MAX_TRACES_PER_PASS = 128
"""Traces of one pass."""
MAX_SPANS_PER_PASS = 5_000
"""Spans of one pass: they are in memory together."""
MAX_STEPS_PER_WRITE = 500
"""Steps of one job of the writer, unless one turn alone has more."""
LARGE_TRACE_SPANS = 1_000
"""Spans of a trace that is read in a process of its own, and stored a slice at a time."""
LARGE_TRACE_BYTES = 4 * 2**20
"""Stored bytes of a trace from which on it counts as large, however few its spans."""
MAX_BUSY_WAIT_S = 0.005
"""How long each trace waits while reports come in without a pause: their senders wait for an answer, and drop what
they cannot get rid of. A trace takes about a millisecond, so that in a flood a sixth of the time is left for it."""
MAX_ATTEMPTS = 3
"""How often storing a trace is tried where another process writes the same turns."""
TRANSIENT_ERRORS = (OperationalError, InterfaceError)
"""Errors of the database that no trace causes."""


Sender = int | None
"""The id of a user; None for those who are deleted."""


def senders() -> list[Sender]:
    """The senders of traces with something new."""
    return [sender for (sender,) in _SENDERS.all()]


def due_traces(resting: Collection[int] = (), *, large: bool = False) -> list[int]:
    """Traces of one pass, of any sender; see `due_traces_of`."""
    return next((traces for sender in senders() if (traces := due_traces_of(sender, resting, large=large))), [])


def due_traces_of(sender: Sender, resting: Collection[int] = (), *, large: bool = False) -> list[int]:
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


def due_among(traces: Collection[int]) -> set[int]:
    """Those of these traces that have something new."""
    return {key for key, _, _, _, arrived, projected, _ in _TRACES.all(list(traces)) if arrived > projected}


def large_among(traces: Sequence[int]) -> set[int]:
    """Those of these traces that are large by their number of spans."""
    return {key for key, *_, spans in _TRACES.all(traces) if spans > LARGE_TRACE_SPANS}


def spans_of(trace: int) -> list[Span]:
    """The spans of a trace in the order they arrived: the first `MOST_SPANS`."""
    return first_spans(_bodies(trace))


def _bodies(trace: int) -> Iterator[bytes]:
    """The reports of a trace as JSON, in the order they arrived, one at a time in memory."""
    for (key,) in _BODIES.all(trace):
        if (row := _BODY.first(key)) is not None:
            yield encoding.unpack(row[0], bytes(row[1]))


@dataclass(frozen=True, slots=True)
class _PendingTrace:
    """A trace that is to be projected. ``bodies`` are (encoding, stored bytes), in the order they arrived; ``spans``
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


@dataclass(frozen=True, slots=True)
class _TraceProjection:
    """The turns of a trace and of those of the same conversation. ``related_ids`` are the traces of which turns may
    have been made before: none where this one is new and no other belongs to it."""

    trace: _PendingTrace
    links: ConversationLinks
    related_ids: tuple[str, ...]
    turns: tuple[PreparedTurn, ...]


def project(traces: Sequence[int]) -> None:
    """Write the turns of these traces, whose senders the caller has claimed, in few short commits; those that were
    projected since they were found are skipped. A trace that cannot be understood, or stored, is logged, stays stored
    as it came, and is not tried again before more of it arrives. Raises OperationalError, InterfaceError."""
    self_contained: list[_TraceProjection] = []
    reports: set[str] = set()
    for trace in _pending_traces(traces):
        ingest_load.wait_while_busy(MAX_BUSY_WAIT_S)
        if trace.is_large:
            _project_large(trace)
            continue
        projection = _try_projecting(trace)
        if projection is not None and not reports.isdisjoint(projection.links.reports):
            _store_batches(self_contained)  # one of them reports the same call or turn
            self_contained, reports = [], set()
            projection = _try_projecting(trace)
        if projection is None:
            continue
        if projection.links.is_bare or len(projection.related_ids) > 1:
            # their turns depend on those before them and their stored links: one commit each
            _store_together([projection])
        else:
            self_contained.append(projection)
            reports |= projection.links.reports
    _store_batches(self_contained)


def _store_batches(projections: Sequence[_TraceProjection]) -> None:
    for batch in _write_batches(projections):
        _store_together(batch)


def _write_batches(projections: Sequence[_TraceProjection]) -> Iterator[list[_TraceProjection]]:
    """Group the projections that one job of the writer stores."""
    sized = ((projection, sum(len(turn.steps) for turn in projection.turns)) for projection in projections)
    return portions.groups(sized, MAX_STEPS_PER_WRITE)


def _pending_traces(traces: Sequence[int]) -> Iterator[_PendingTrace]:
    rows = {row[0]: row[1:] for row in _TRACES.all(traces)}  # before the bodies, so that none counts that is not read
    bodies: dict[int, list[tuple[int, bytes]]] = {}
    for trace, kind, body in _BATCHES.all([trace for trace, row in rows.items() if row[-1] <= LARGE_TRACE_SPANS]):
        bodies.setdefault(trace, []).append((kind, body))
    for trace in traces:
        if trace not in rows:
            continue
        user, scope, external_id, arrived, projected, spans = rows[trace]
        if arrived > projected:
            yield _PendingTrace(
                trace, Owner(user, scope), external_id, arrived, projected, spans, bodies.get(trace, [])
            )


def _try_projecting(trace: _PendingTrace) -> _TraceProjection | None:
    """The projection of a trace; None where that fails, which is logged."""
    try:
        return _build_projection(trace)
    except TRANSIENT_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - logged by `_mark_failed`; what others send must not stop the rest
        _mark_failed(trace, "understood", error)
        return None


def _build_projection(trace: _PendingTrace) -> _TraceProjection:
    spans = first_spans(encoding.unpack(kind, bytes(body)) for kind, body in trace.bodies)
    links, records = turns.build_turns_and_links(spans)
    others = related_traces.find_related(trace.owner, trace.key, links)
    if others:
        _, records = turns.build_turns_and_links([*spans, *(span for other in others for span in spans_of(other))])
    related_ids = _related_ids(trace, links, others)
    records = [_with_warning(trace, record, len(spans)) for record in records]
    format_ = spans[0].format if spans else "otlp"
    return _TraceProjection(
        trace,
        links,
        related_ids,
        tuple(write_turns.prepare_turn(record, _source(record.format or format_)) for record in records),
    )


def _related_ids(trace: _PendingTrace, links: ConversationLinks, others: Sequence[int]) -> tuple[str, ...]:
    is_new = trace.projected == 0 and not links.is_bare and not others
    return () if is_new else (trace.external_id, *related_traces.external_ids(others))


def _with_warning(trace: _PendingTrace, record: ExternalTurn, spans: int) -> ExternalTurn:
    """The record, with a warning where not all of the trace was read."""
    if spans >= trace.spans:
        return record
    return replace(record, warnings=(trace_truncated(spans), *record.warnings))


def _source(format_: str) -> Source:
    return SOURCES.get(format_, Source.IMPORT)


def _mark_failed(trace: _PendingTrace, action: str, error: Exception) -> None:
    """Log the error, and do not try the trace again until more of it arrives."""
    log.error("trace %s cannot be %s", trace.external_id, action, exc_info=error)
    writer.write(lambda: trace_updates.mark_failed(trace.key, trace.arrived))


# --------------------------------------------------------------------------------------------- large ones


def _project_large(trace: _PendingTrace) -> None:
    """Project a large trace in slices; the last job marks it as projected."""
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        try:
            return _project_in_slices(trace)
        except TRANSIENT_ERRORS:
            raise
        except (large_turns.TurnDeleted, reader_process.ReaderStopped) as reason:
            return log.info("trace %s is left for later: %r", trace.external_id, reason)
        except Exception as error:  # noqa: BLE001 - logged by `_mark_failed`; one trace must not stop the rest
            if not attempts_left or not isinstance(error, IntegrityError):
                return _mark_failed(trace, "understood or stored", error)


def _project_in_slices(trace: _PendingTrace) -> None:
    with reader_process.start_reader() as reader:
        summary = reader.send_trace(_bodies(trace.key))
        others = related_traces.find_related(trace.owner, trace.key, summary.links)
        reader.send_related(map(_bodies, others))
        stored_keys: set[int] = set()
        batch: list[PreparedTurn] = []
        for head, steps in reader.turns():
            record = _with_warning(trace, head.turn, summary.spans)
            source = _source(record.format or summary.format)
            if len(head.steps) > MAX_STEPS_PER_WRITE:
                prepared = large_turns.write(trace.owner, trace.key, TurnHead(record, head.steps), source, steps)
            else:
                record = replace(record, steps=tuple(step for slice_ in steps for step in slice_))
                prepared = write_turns.prepare_turn(record, source)
            if sum(len(turn.steps) for turn in (*batch, prepared)) > MAX_STEPS_PER_WRITE:
                stored_keys.update(_store_turns(trace, batch))
                batch = []
            batch.append(prepared)
        stored_keys.update(_store_turns(trace, batch))
    projection = _TraceProjection(trace, summary.links, _related_ids(trace, summary.links, others), ())
    writer.write(lambda: _finish(projection, stored_keys))


def _store_turns(trace: _PendingTrace, batch: Sequence[PreparedTurn]) -> list[int]:
    """Write these turns; returns their keys."""

    def job() -> list[int]:
        if _TRACE_EXISTS.first(trace.key) is None:
            raise large_turns.TurnDeleted
        return write_turns.write(trace.owner, batch)

    return writer.write(job) if batch else []


# ------------------------------------------------------------------------------------------- storing


def _store_together(projections: Sequence[_TraceProjection]) -> None:
    """Store projections in one transaction; where that fails, one by one."""
    try:
        writer.write(lambda: _store(projections))
    except TRANSIENT_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - whichever trace raised it raises it again alone, where it is logged
        log.info("%d traces are stored one by one: %s", len(projections), error)
        for projection in projections:
            _store_alone(projection)


def _store_alone(projection: _TraceProjection) -> None:
    for attempts_left in reversed(range(MAX_ATTEMPTS)):
        try:
            return writer.write(lambda: _store([projection]))
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - logged by `_mark_failed`; one trace must not stop the rest
            if not attempts_left or not isinstance(error, IntegrityError):
                return _mark_failed(projection.trace, "stored", error)


def _store(projections: Sequence[_TraceProjection]) -> None:
    """Store projections within the caller's transaction. Traces that were deleted since they were read stay deleted."""
    existing = {row[0] for row in _TRACES.all([projection.trace.key for projection in projections])}
    projections = [projection for projection in projections if projection.trace.key in existing]
    for projection in projections:
        related_traces.store_links(projection.trace.owner, projection.trace.key, projection.links)
    keys = _write_all(projections)
    for projection in projections:
        stored_keys = {keys[projection.trace.owner, turn.id] for turn in projection.turns}
        _delete_stale_turns(projection, stored_keys)
    trace_updates.mark_projected([_projected_row(projection, len(projection.turns)) for projection in projections])


def _finish(projection: _TraceProjection, stored_keys: set[int]) -> None:
    """Do the same as `_store` for a large trace, whose turns are stored already."""
    if _TRACE_EXISTS.first(projection.trace.key) is None:
        return
    related_traces.store_links(projection.trace.owner, projection.trace.key, projection.links)
    _delete_stale_turns(projection, stored_keys)
    trace_updates.mark_projected([_projected_row(projection, len(stored_keys))])


def _write_all(projections: Sequence[_TraceProjection]) -> dict[tuple[Owner, str], int]:
    """Write the turns; returns their keys by owner and external id. Of a turn in two traces the later one counts."""
    by_owner: dict[Owner, dict[str, PreparedTurn]] = {}
    for projection in projections:
        by_owner.setdefault(projection.trace.owner, {}).update((turn.id, turn) for turn in projection.turns)
    turn_keys: dict[tuple[Owner, str], int] = {}
    for owner, owner_turns in by_owner.items():
        keys = write_turns.write(owner, list(owner_turns.values()))
        turn_keys.update(((owner, name), key) for name, key in zip(owner_turns, keys, strict=True))
    return turn_keys


def _projected_row(projection: _TraceProjection, turns: int) -> tuple[object, ...]:
    return (projection.trace.arrived, turns, *related_traces.link_columns(projection.links), projection.trace.key)


def _delete_stale_turns(projection: _TraceProjection, stored_keys: set[int]) -> None:
    """Delete turns that were made of these traces once, and are parts of other turns now."""
    owner = projection.trace.owner
    for trace_id in projection.related_ids:
        # the turns of a trace have its id, or its id with a colon and the id of a span
        rows = _TURNS_OF_TRACE.all(owner.user, owner.scope, trace_id, f"{trace_id};")
        stale = {
            key: session for key, session, turn_id in rows if key not in stored_keys and _belongs_to(turn_id, trace_id)
        }
        if stale:
            delete_turns(list(stale), for_good=False)
            for session in set(stale.values()):
                turn_order.update_left_session(session)


def _belongs_to(turn_id: str, trace_id: str) -> bool:
    return turn_id == trace_id or turn_id.startswith(f"{trace_id}:")
