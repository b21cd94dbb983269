"""From what was reported to turns: asked again whenever more of a trace has come, with the same outcome in
whatever order it came."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from django.db.utils import IntegrityError, InterfaceError, OperationalError
from msgspec.structs import replace

from agents.base.store import encoding, portions
from agents.base.store.sql import Select, SelectAmong, execute, execute_many
from agents.base.store.writer import writer
from agents.record.models.choices import Source
from agents.record.models.turns import Turn
from agents.record.store.deletion import delete_turns
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading import turns
from agents.telemetry.reading.conversation_links import Links
from agents.telemetry.reading.records import ForeignTurn
from agents.telemetry.reading.spans import Span
from agents.telemetry.reading.trace_worker import Head, first_spans
from agents.telemetry.reading.turn_warnings import only_first
from agents.telemetry.store.external import large_turns, reader_process, related_traces, turn_order
from agents.telemetry.store.external import write_turns as foreign_turns
from agents.telemetry.store.external.backpressure import intake
from agents.telemetry.store.external.owners import Owner
from agents.telemetry.store.external.write_turns import Prepared

log = logging.getLogger(__name__)

_TRACES = SelectAmong(Trace, "id owner_id scope_id foreign_id arrived projected span_count", "id")
_BATCHES = SelectAmong(SpanBatch, "trace_id encoding body", "trace_id", order="id")
_BODIES = Select(SpanBatch, "id", "trace_id = %s ORDER BY id")
_BODY = Select(SpanBatch, "encoding body", "id = %s")
_SENDERS = Select(Trace, "owner_id", "arrived > projected GROUP BY owner_id ORDER BY owner_id")
_DUE, _DUE_LARGE, _DUE_OF_NOBODY, _DUE_LARGE_OF_NOBODY = (
    Select(
        Trace,
        "id span_count",
        f"arrived > projected AND owner_id {whose} AND span_count {size} ORDER BY updated_at LIMIT %s",
    )
    for whose in ("= %s", "IS NULL")
    for size in ("<= %s", "> %s")
)
_MADE_OF = Select(
    Turn, "id session_id foreign_id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s"
)
_TRACE_THERE = Select(Trace, "id", "id = %s")
_DONE = (
    "UPDATE agents_trace SET projected = %s, turn_count = %s, conversation = %s, service = %s, is_bare = %s "
    "WHERE id = %s"
)
_GIVEN_UP = "UPDATE agents_trace SET projected = %s WHERE id = %s"
SOURCES = {"otlp": Source.OTLP, "openai_agents": Source.OPENAI_AGENTS, "langsmith": Source.LANGSMITH}
"""Where spans of a format come from; those of other formats are imported."""
AT_ONCE = 128
"""Traces of one pass."""
SPANS_AT_ONCE = 5_000
"""Spans of one pass: they are in memory together."""
STEPS_AT_ONCE = 500
"""Steps of one job of the writer, unless one turn alone has more."""
LARGE = 1_000
"""Spans of a trace that is read in a process of its own, and stored a slice at a time."""
LARGE_BYTES = 4 * 2**20
"""What is kept of a trace that is as large, however few its spans."""
GIVE_WAY_S = 0.005
"""How long each trace waits while reports come in without a pause: their senders wait for an answer, and drop what
they cannot get rid of. A trace takes about a millisecond, so that in a flood a sixth of the time is left for it."""
TRIES = 3
"""How often a trace is stored when another process is at its turns as well."""
TRANSIENT = (OperationalError, InterfaceError)
"""The database's trouble, and no trace's."""


Sender = int | None
"""The id of a user; None for those who are deleted."""


def senders() -> list[Sender]:
    """Of whom there is something new."""
    return [sender for (sender,) in _SENDERS.all()]


def due(resting: Collection[int] = (), *, large: bool = False) -> list[int]:
    """Traces of one pass, of any sender; see `due_of`."""
    return next((found for sender in senders() if (found := due_of(sender, resting, large=large))), [])


def due_of(sender: Sender, resting: Collection[int] = (), *, large: bool = False) -> list[int]:
    """Traces of one pass: those of a sender with something new, the longest waiting first, but for those that
    rest; large ones by themselves, one at a time."""
    found, room, most = list[int](), SPANS_AT_ONCE, 1 if large else AT_ONCE
    for key, spans in _due_of(sender, large, most + len(resting)):
        if key in resting:
            continue
        room -= spans
        if found and (room < 0 or len(found) == most):
            break
        found.append(key)
    return found


def _due_of(sender: Sender, large: bool, most: int) -> list[tuple[int, int]]:
    if sender is None:
        return (_DUE_LARGE_OF_NOBODY if large else _DUE_OF_NOBODY).all(LARGE, most)
    return (_DUE_LARGE if large else _DUE).all(sender, LARGE, most)


def spans_of(trace: int) -> list[Span]:
    """What came of a trace, in the order it came: the first `MOST_SPANS`."""
    return first_spans(_bodies(trace))


def _bodies(trace: int) -> Iterator[bytes]:
    """The reports of a trace as JSON, in the order they came, one after the other in memory."""
    for (key,) in _BODIES.all(trace):
        if (found := _BODY.first(key)) is not None:
            yield encoding.unpack(found[0], bytes(found[1]))


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A trace as it was kept. ``bodies`` are (encoding, stored bytes), in the order they came; ``spans`` counts
    what is in them."""

    trace: int
    owner: Owner
    name: str
    arrived: int
    projected: int
    spans: int
    bodies: list[tuple[int, bytes]]

    @property
    def is_large(self) -> bool:
        return self.spans > LARGE or sum(len(body) for _, body in self.bodies) > LARGE_BYTES


@dataclass(frozen=True, slots=True)
class _Projected:
    """What is made of a trace and those of the same conversation. ``names`` are the traces that turns may
    have been made of before: none where this one is new and stands for itself."""

    of: _Waiting
    links: Links
    names: tuple[str, ...]
    turns: tuple[Prepared, ...]


def project(traces: Sequence[int]) -> None:
    """Store what the spans of these traces mean, in as few commits as are short. One that cannot be understood, or
    stored, is logged, kept as it came, and not tried again before more of it comes. Raises OperationalError,
    InterfaceError."""
    alone: list[_Projected] = []
    for waiting in _waiting(traces):
        intake.give_way(GIVE_WAY_S)
        if waiting.is_large:
            _project_apart(waiting)
            continue
        made = _understood(waiting)
        if made is None:
            continue
        if made.links.is_bare:
            # what a bare one means hangs on those before it, and on what is remembered of them
            _keep([made])
        else:
            alone.append(made)
    for some in _together(alone):
        _keep(some)


def _together(projected: Sequence[_Projected]) -> Iterator[list[_Projected]]:
    """Those that are stored in one job."""
    sized = ((made, sum(len(turn.steps) for turn in made.turns)) for made in projected)
    return portions.groups(sized, STEPS_AT_ONCE)


def _waiting(traces: Sequence[int]) -> Iterator[_Waiting]:
    rows = {row[0]: row[1:] for row in _TRACES.all(traces)}  # before the bodies, so that none counts that is not read
    bodies: dict[int, list[tuple[int, bytes]]] = {}
    for trace, kind, body in _BATCHES.all([trace for trace, row in rows.items() if row[-1] <= LARGE]):
        bodies.setdefault(trace, []).append((kind, body))
    for trace in traces:
        if trace in rows:
            user, scope, name, arrived, projected, spans = rows[trace]
            yield _Waiting(trace, Owner(user, scope), name, arrived, projected, spans, bodies.get(trace, []))


def _understood(waiting: _Waiting) -> _Projected | None:
    """None where that fails."""
    try:
        return _read(waiting)
    except TRANSIENT:
        raise
    except Exception as error:  # noqa: BLE001 - logged by `_give_up`; what others send must not stop the rest
        _give_up(waiting, "understood", error)
        return None


def _read(waiting: _Waiting) -> _Projected:
    spans = first_spans(encoding.unpack(kind, bytes(body)) for kind, body in waiting.bodies)
    links, records = turns.with_links(spans)
    others = related_traces.related(waiting.owner, waiting.trace, links)
    if others:
        _, records = turns.with_links([*spans, *(span for other in others for span in spans_of(other))])
    names = _names(waiting, links, others)
    records = [_warned(waiting, record, len(spans)) for record in records]
    source = _source(spans[0].format if spans else "otlp")
    return _Projected(waiting, links, names, tuple(foreign_turns.prepared(record, source) for record in records))


def _names(waiting: _Waiting, links: Links, others: Sequence[int]) -> tuple[str, ...]:
    is_new = waiting.projected == 0 and not links.is_bare
    return () if is_new else (waiting.name, *related_traces.names(others))


def _warned(waiting: _Waiting, record: ForeignTurn, spans: int) -> ForeignTurn:
    """With word of it if not all of the trace was read."""
    if spans >= waiting.spans:
        return record
    return replace(record, warnings=(only_first(spans), *record.warnings))


def _source(format_: str) -> Source:
    return SOURCES.get(format_, Source.IMPORT)


def _give_up(waiting: _Waiting, what: str, error: Exception) -> None:
    """Until more of it comes."""
    log.error("trace %s cannot be %s", waiting.name, what, exc_info=error)
    writer.write(lambda: execute(_GIVEN_UP, waiting.arrived, waiting.trace))


# --------------------------------------------------------------------------------------------- large ones


def _project_apart(waiting: _Waiting) -> None:
    """A large trace, by slices: the last job makes it done."""
    for left in reversed(range(TRIES)):
        try:
            return _by_slices(waiting)
        except TRANSIENT:
            raise
        except (large_turns.Gone, reader_process.Stopped) as reason:
            return log.info("trace %s is left for later: %r", waiting.name, reason)
        except Exception as error:  # noqa: BLE001 - logged by `_give_up`; one trace must not stop the rest
            if not left or not isinstance(error, IntegrityError):
                return _give_up(waiting, "understood or stored", error)


def _by_slices(waiting: _Waiting) -> None:
    with reader_process.reading() as reading:
        told = reading.tell(_bodies(waiting.trace))
        source = _source(told.format)
        others = related_traces.related(waiting.owner, waiting.trace, told.links)
        reading.tell_others(map(_bodies, others))
        kept: set[int] = set()
        some: list[Prepared] = []
        for head, steps in reading.turns():
            record = _warned(waiting, head.turn, told.spans)
            if len(head.steps) > STEPS_AT_ONCE:
                made = large_turns.write(waiting.owner, waiting.trace, Head(record, head.steps), source, steps)
            else:
                record = replace(record, steps=tuple(step for more in steps for step in more))
                made = foreign_turns.prepared(record, source)
            if sum(len(turn.steps) for turn in (*some, made)) > STEPS_AT_ONCE:
                kept.update(_keep_some(waiting, some))
                some = []
            some.append(made)
        kept.update(_keep_some(waiting, some))
    projected = _Projected(waiting, told.links, _names(waiting, told.links, others), ())
    writer.write(lambda: _settle(projected, kept))


def _keep_some(waiting: _Waiting, some: Sequence[Prepared]) -> list[int]:
    """The keys of these turns, which are stored now."""

    def job() -> list[int]:
        if _TRACE_THERE.first(waiting.trace) is None:
            raise large_turns.Gone
        return foreign_turns.write(waiting.owner, some)

    return writer.write(job) if some else []


# ------------------------------------------------------------------------------------------- storing


def _keep(projected: Sequence[_Projected]) -> None:
    """Store them together; where that fails, one by one."""
    try:
        writer.write(lambda: _store(projected))
    except TRANSIENT:
        raise
    except Exception as error:  # noqa: BLE001 - whichever trace raised it raises it again alone, where it is told of
        log.info("%d traces are stored one by one: %s", len(projected), error)
        for made in projected:
            _keep_alone(made)


def _keep_alone(made: _Projected) -> None:
    for left in reversed(range(TRIES)):
        try:
            return writer.write(lambda: _store([made]))
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - logged by `_give_up`; one trace must not stop the rest
            if not left or not isinstance(error, IntegrityError):
                return _give_up(made.of, "stored", error)


def _store(projected: Sequence[_Projected]) -> None:
    """Within one transaction. Traces that were deleted since they were read stay so."""
    there = {row[0] for row in _TRACES.all([made.of.trace for made in projected])}
    projected = [made for made in projected if made.of.trace in there]
    for made in projected:
        related_traces.remember(made.of.owner, made.of.trace, made.links)
    keys = _write(projected)
    for made in projected:
        kept = {keys[made.of.owner, turn.id] for turn in made.turns}
        _drop_others(made, kept)
    execute_many(_DONE, (_done(made, len(made.turns)) for made in projected))


def _settle(made: _Projected, kept: set[int]) -> None:
    """The same of one whose turns are stored already."""
    if _TRACE_THERE.first(made.of.trace) is None:
        return
    related_traces.remember(made.of.owner, made.of.trace, made.links)
    _drop_others(made, kept)
    execute(_DONE, *_done(made, len(kept)))


def _write(projected: Sequence[_Projected]) -> dict[tuple[Owner, str], int]:
    """Write the turns; returns their keys by owner and foreign id. One that two traces tell of is the later one's."""
    told: dict[Owner, dict[str, Prepared]] = {}
    for made in projected:
        told.setdefault(made.of.owner, {}).update((turn.id, turn) for turn in made.turns)
    found: dict[tuple[Owner, str], int] = {}
    for owner, some in told.items():
        keys = foreign_turns.write(owner, list(some.values()))
        found.update(((owner, name), key) for name, key in zip(some, keys, strict=True))
    return found


def _done(made: _Projected, turns: int) -> tuple[object, ...]:
    return (made.of.arrived, turns, *related_traces.columns(made.links), made.of.trace)


def _drop_others(made: _Projected, kept: set[int]) -> None:
    """Turns that were once made of these traces, and now are parts of others."""
    owner = made.of.owner
    for name in made.names:
        # those of a trace are called as it is, or as it is with a colon and the id of a span
        found = _MADE_OF.all(owner.user, owner.scope, name, f"{name};")
        gone = {key: session for key, session, foreign in found if key not in kept and _is_of(foreign, name)}
        if gone:
            delete_turns(list(gone), for_good=False)
            for session in set(gone.values()):
                turn_order.leave(session)


def _is_of(foreign: str, trace: str) -> bool:
    return foreign == trace or foreign.startswith(f"{trace}:")
