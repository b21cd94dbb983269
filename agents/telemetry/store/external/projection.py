"""Projects reported spans into turns, again whenever more of a trace has arrived. The outcome is the same in whatever
order the spans arrived."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain

from django.db.utils import IntegrityError, InterfaceError, OperationalError

from agents.base.store.sql import Select, SelectAmong
from agents.base.store.writer import writer
from agents.record.models.turns import Turn
from agents.record.store import provisional_agents
from agents.record.store.deletion import delete_turns
from agents.record.store.totals import TurnTotals
from agents.telemetry.models.traces import Trace
from agents.telemetry.reading import turns
from agents.telemetry.reading.batch_worker import read_trace
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.prepared_turns import PreparedTurn, prepare_turns, with_steps
from agents.telemetry.reading.stored_spans import format_of
from agents.telemetry.reading.worker_frames import ReadTrace, SmallTrace
from agents.telemetry.store.external import (
    due_traces,
    large_turns,
    reader_process,
    related_traces,
    turn_order,
    write_turns,
)
from agents.telemetry.store.external.backpressure import ingest_load
from agents.telemetry.store.external.batch_reader import Reading, batch_reader
from agents.telemetry.store.external.due_traces import DueTrace
from agents.telemetry.store.external.owners import Owner, external_id
from agents.telemetry.store.external.trace_updates import trace_updates

log = logging.getLogger(__name__)

_TURNS_OF_TRACE = Select(
    Turn,
    "id session_id agent_id foreign_id",
    "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s",
)
_TRACES = SelectAmong(Trace, "id", "id")
_TRACE_EXISTS = Select(Trace, "id", "id = %s")
MAX_STEPS_PER_WRITE = 500
"""Steps of one job of the writer, unless one turn alone has more."""
MAX_BUSY_WAIT_S = 0.005
"""How long each trace waits while reports come in without a pause: their senders wait for an answer, and drop what
they cannot get rid of. A trace takes about a millisecond, so that in a flood a sixth of the time is left for it."""
MAX_BUSY_WAIT_READ_S = 0.001
"""The same for a trace that another process has read, of which less is left to do."""
MIN_TRACES_APART = 64
"""Traces of one pass from which on another process reads them: for fewer it is not worth its memory."""
MAX_ATTEMPTS = 3
"""How often storing a trace is tried where another process writes the same turns."""
TRANSIENT_ERRORS = (OperationalError, InterfaceError)
"""Errors of the database that no trace causes."""


@dataclass(frozen=True, slots=True)
class _TraceProjection:
    """The turns of a trace and of those of the same conversation. ``related_ids`` are the traces of which turns may
    have been made before: none where this one is new and no other belongs to it."""

    trace: DueTrace
    links: ConversationLinks
    related_ids: tuple[str, ...]
    turns: tuple[PreparedTurn, ...]

    @property
    def step_count(self) -> int:
        return sum(len(turn.steps) for turn in self.turns)


def project(chunks: Iterable[Sequence[int]]) -> None:
    """Write the turns of these traces, whose senders the caller has claimed, in few short commits; those that were
    projected since they were found are skipped. A chunk is asked for while another process reads the one before, which
    is not stored yet. A trace that cannot be understood, or stored, is logged, stays stored as it came, and is not
    tried again before more of it arrives. Raises OperationalError, InterfaceError."""
    group = _Group()
    try:
        for trace, reading in _read_traces(list(due_traces.load(traces)) for traces in chunks):
            if trace.is_large:
                _project_large(trace)
            else:
                _project_small(trace, reading, group)
    except reader_process.ReaderStopped:
        log.info("what is left of these traces is for later")
    finally:
        group.store()


def _read_traces(chunks: Iterator[Sequence[DueTrace]]) -> Iterator[tuple[DueTrace, Reading]]:
    """Yield the traces, each as another process has read it; None where it is to be read here: a large one, or one of
    few."""
    first = next(chunks, ())
    with batch_reader.claimed(sum(not trace.is_large for trace in first) >= MIN_TRACES_APART) as claimed:
        if claimed:
            yield from batch_reader.read(chain([first], chunks))
        else:
            for traces in chain([first], chunks):
                yield from ((trace, None) for trace in traces)


class _Group:
    """Projections that are stored together, while those of the next group are made: none in either reports a call or a
    turn that another one does."""

    def __init__(self) -> None:
        self._projections: list[_TraceProjection] = []
        self._stored: tuple[list[_TraceProjection], Future[None]] | None = None
        self._reports: set[str] = set()
        self._stored_reports: set[str] = set()
        self._steps = 0

    def meets(self, links: ConversationLinks) -> bool:
        return not (self._reports.isdisjoint(links.reports) and self._stored_reports.isdisjoint(links.reports))

    def add(self, projection: _TraceProjection) -> None:
        """Add a projection, after those before are on their way where the job would become too large."""
        if self._projections and self._steps + projection.step_count > MAX_STEPS_PER_WRITE:
            self._begin_storing()
        self._projections.append(projection)
        self._reports |= projection.links.reports
        self._steps += projection.step_count

    def store(self) -> None:
        """Store all projections, and wait until they are."""
        self._begin_storing()
        self._finish_storing()

    def _begin_storing(self) -> None:
        self._finish_storing()
        projections, self._projections = self._projections, []
        self._stored_reports, self._reports, self._steps = self._reports, set(), 0
        if projections:
            self._stored = projections, writer.submit(lambda: _store(projections))

    def _finish_storing(self) -> None:
        stored, self._stored, self._stored_reports = self._stored, None, set()
        if stored is not None:
            _wait_for(*stored)


def _project_small(trace: DueTrace, reading: Reading, group: _Group) -> None:
    ingest_load.wait_while_busy(MAX_BUSY_WAIT_S if reading is None else MAX_BUSY_WAIT_READ_S)
    projection = _try_projecting(trace, reading)
    if projection is not None and group.meets(projection.links):
        group.store()
        projection = _try_projecting(trace, reading)
    if projection is None:
        return
    if projection.links.is_bare or len(projection.related_ids) > 1:
        # their turns depend on those before them and their stored links: one commit each
        _store_together([projection])
    else:
        group.add(projection)


def _try_projecting(trace: DueTrace, reading: Reading = None) -> _TraceProjection | None:
    """The projection of a trace; None where that fails, which is logged."""
    try:
        if isinstance(reading, Exception):
            raise reading
        return _build_projection(trace, reading or read_trace(SmallTrace(trace.bodies, trace.spans)))
    except TRANSIENT_ERRORS:
        raise
    except Exception as error:  # noqa: BLE001 - logged by `_mark_failed`; what others send must not stop the rest
        _mark_failed(trace, "understood", error)
        return None


def _build_projection(trace: DueTrace, reading: ReadTrace) -> _TraceProjection:
    links, prepared = reading.links, reading.turns
    others = related_traces.find_related(trace.owner, trace.key, links)
    if others:
        spans = due_traces.spans_of(trace.key)
        related = (span for other in others for span in due_traces.spans_of(other))
        _, records = turns.build_turns_and_links([*spans, *related])
        prepared = prepare_turns(records, format_of(spans), reading.spans, trace.spans)
    return _TraceProjection(trace, links, _related_ids(trace, links, others), tuple(prepared))


def _related_ids(trace: DueTrace, links: ConversationLinks, others: Sequence[int]) -> tuple[str, ...]:
    is_new = trace.projected == 0 and not links.is_bare and not others
    return () if is_new else (trace.external_id, *related_traces.external_ids(others))


def _mark_failed(trace: DueTrace, action: str, error: Exception) -> None:
    """Log the error, and do not try the trace again until more of it arrives."""
    log.error("trace %s cannot be %s", trace.external_id, action, exc_info=error)
    writer.write(lambda: trace_updates.mark_failed(trace.key, trace.arrived))


# --------------------------------------------------------------------------------------------- large ones


def _project_large(trace: DueTrace) -> None:
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


def _project_in_slices(trace: DueTrace) -> None:
    with reader_process.start_reader() as reader:
        links = reader.send_trace(due_traces.bodies_of(trace.key), trace.spans).links
        others = related_traces.find_related(trace.owner, trace.key, links)
        reader.send_related(map(due_traces.bodies_of, others))
        stored_keys: set[int] = set()
        batch: list[PreparedTurn] = []
        totals: dict[str, TurnTotals] = {}
        for head, slices in reader.turns():
            if len(head.steps) > MAX_STEPS_PER_WRITE:
                turn, totals[head.turn.id] = large_turns.write(trace.owner, trace.key, head, slices)
            else:
                turn = with_steps(head.turn, [step for slice_ in slices for step in slice_])
            if sum(len(turn.steps) for turn in (*batch, turn)) > MAX_STEPS_PER_WRITE:
                stored_keys.update(_store_turns(trace, batch, totals))
                batch = []
            batch.append(turn)
        stored_keys.update(_store_turns(trace, batch, totals))
    projection = _TraceProjection(trace, links, _related_ids(trace, links, others), ())
    writer.write(lambda: _finish(projection, stored_keys))


def _store_turns(trace: DueTrace, batch: Sequence[PreparedTurn], totals: Mapping[str, TurnTotals]) -> list[int]:
    """Write these turns; returns their keys. ``totals`` are those of turns whose steps are stored already."""

    def job() -> list[int]:
        if _TRACE_EXISTS.first(trace.key) is None:
            raise large_turns.TurnDeleted
        return write_turns.write(trace.owner, batch, totals)

    return writer.write(job) if batch else []


# ------------------------------------------------------------------------------------------- storing


def _store_together(projections: Sequence[_TraceProjection]) -> None:
    """Store projections in one transaction; where that fails, one by one."""
    _wait_for(projections, writer.submit(lambda: _store(projections)))


def _wait_for(projections: Sequence[_TraceProjection], stored: Future[None]) -> None:
    """Wait until projections are stored; where that fails, store them one by one."""
    try:
        stored.result()
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
        stored_keys = {keys[projection.trace.owner, external_id(turn.id)] for turn in projection.turns}
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
        by_owner.setdefault(projection.trace.owner, {}).update(
            (external_id(turn.id), turn) for turn in projection.turns
        )
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
            key: (session, agent)
            for key, session, agent, turn_id in rows
            if key not in stored_keys and _belongs_to(turn_id, trace_id)
        }
        if stale:
            delete_turns(list(stale), for_good=False)
            for session in {session for session, _ in stale.values()}:
                turn_order.update_left_session(session)
            provisional_agents.delete_unused({agent for _, agent in stale.values() if agent is not None})


def _belongs_to(turn_id: str, trace_id: str) -> bool:
    return turn_id == trace_id or turn_id.startswith(f"{trace_id}:")
