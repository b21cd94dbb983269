"""From what was reported to turns: asked again whenever more of a trace has come, with the same outcome in
whatever order it came."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from django.db.utils import IntegrityError, InterfaceError, OperationalError
from msgspec.structs import replace

from agents.base.store import encoding
from agents.base.store.sql import Select, SelectAmong, execute, execute_many
from agents.base.store.writer import writer
from agents.record.models.choices import Source
from agents.record.models.turns import Turn
from agents.record.store.deletion import delete_turns
from agents.telemetry.models.traces import SpanBatch, Trace
from agents.telemetry.reading import turns
from agents.telemetry.reading.links import Links
from agents.telemetry.reading.remarks import only_first
from agents.telemetry.reading.spans import Span
from agents.telemetry.store.external import conversations, order
from agents.telemetry.store.external import turns as foreign_turns
from agents.telemetry.store.external.intake import intake
from agents.telemetry.store.external.owners import Owner
from agents.telemetry.store.external.turns import Prepared

log = logging.getLogger(__name__)

_decode = msgspec.json.Decoder(list[Span]).decode
_TRACES = SelectAmong(Trace, "id owner_id scope_id foreign_id arrived projected span_count", "id")
_BATCHES = SelectAmong(SpanBatch, "trace_id encoding body", "trace_id", order="id")
_DUE = Select(Trace, "id span_count", "arrived > projected ORDER BY updated_at LIMIT %s")
_MADE_OF = Select(
    Turn, "id session_id foreign_id", "owner_id = %s AND scope_id = %s AND foreign_id >= %s AND foreign_id < %s"
)
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
"""Spans of one pass, unless its first trace alone has more: they are in memory together."""
MOST_SPANS, MOST_BYTES = 150_000, 512 * 2**20
"""Spans of a trace that become steps, and their size as JSON."""
GIVE_WAY_S = 0.005
"""How long each trace waits while reports come in without a pause: their senders wait for an answer, and drop what
they cannot get rid of. A trace takes about a millisecond, so that in a flood a sixth of the time is left for it."""
TRIES = 3
"""How often a trace is stored when another process is at its turns as well."""
TRANSIENT = (OperationalError, InterfaceError)
"""The database's trouble, and no trace's."""


def due(resting: Collection[int] = ()) -> list[int]:
    """Traces of one pass: those with something new, the longest waiting first, but for those that rest."""
    found, room = list[int](), SPANS_AT_ONCE
    for key, spans in _DUE.all(AT_ONCE + len(resting)):
        if key in resting:
            continue
        room -= spans
        if found and room < 0:
            break
        found.append(key)
    return found


def spans_of(trace: int) -> list[Span]:
    """What came of a trace, in the order it came: the first `MOST_SPANS`."""
    return _spans([(kind, body) for _, kind, body in _BATCHES.all([trace])])


def _spans(bodies: Iterable[tuple[int, bytes]]) -> list[Span]:
    """The first ones: what a trace may hold has no bound, memory has."""
    found: list[Span] = []
    size = 0
    for kind, packed in bodies:
        body = encoding.unpack(kind, bytes(packed))
        size += len(body)
        if size > MOST_BYTES and found:
            break
        found += _decode(body)
        if len(found) >= MOST_SPANS:
            break
    return found[:MOST_SPANS]


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


@dataclass(frozen=True, slots=True)
class _Projected:
    """What is made of a trace and those of the same conversation. ``names`` are the traces that turns may
    have been made of before: none where this one is new and stands for itself."""

    of: _Waiting
    links: Links
    names: tuple[str, ...]
    turns: tuple[Prepared, ...]


def project(traces: Sequence[int]) -> None:
    """Store what the spans of these traces mean, in one commit. One that cannot be understood, or stored, is logged,
    kept as it came, and not tried again before more of it comes. Raises OperationalError, InterfaceError."""
    alone: list[_Projected] = []
    for waiting in _waiting(traces):
        intake.give_way(GIVE_WAY_S)
        made = _understood(waiting)
        if made is None:
            continue
        if made.links.is_bare:
            # what a bare one means hangs on those before it, and on what is remembered of them
            _keep([made])
        else:
            alone.append(made)
    if alone:
        _keep(alone)


def _waiting(traces: Sequence[int]) -> Iterator[_Waiting]:
    rows = {row[0]: row[1:] for row in _TRACES.all(traces)}  # before the bodies, so that none counts that is not read
    bodies: dict[int, list[tuple[int, bytes]]] = {}
    for trace, kind, body in _BATCHES.all(list(rows)):
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
    spans = _spans(waiting.bodies)
    links, records = turns.with_links(spans)
    others = conversations.related(waiting.owner, waiting.trace, links)
    if others:
        _, records = turns.with_links([*spans, *(span for other in others for span in spans_of(other))])
    is_new = waiting.projected == 0 and not links.is_bare
    names = () if is_new else (waiting.name, *conversations.names(others))
    if len(spans) < waiting.spans:
        records = [replace(record, warnings=(only_first(len(spans)), *record.warnings)) for record in records]
    source = _source(spans)
    return _Projected(waiting, links, names, tuple(foreign_turns.prepared(record, source) for record in records))


def _source(spans: Iterable[Span]) -> Source:
    for span in spans:
        return SOURCES.get(span.format, Source.IMPORT)
    return Source.OTLP


def _give_up(waiting: _Waiting, what: str, error: Exception) -> None:
    """Until more of it comes."""
    log.error("trace %s cannot be %s", waiting.name, what, exc_info=error)
    writer.write(lambda: execute(_GIVEN_UP, waiting.arrived, waiting.trace))


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
        conversations.remember(made.of.owner, made.of.trace, made.links)
    keys = _write(projected)
    for made in projected:
        kept = {keys[made.of.owner, turn.id] for turn in made.turns}
        _drop_others(made, kept)
    execute_many(_DONE, (_done(made) for made in projected))


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


def _done(made: _Projected) -> tuple[object, ...]:
    return (made.of.arrived, len(made.turns), *conversations.columns(made.links), made.of.trace)


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
                order.leave(session)


def _is_of(foreign: str, trace: str) -> bool:
    return foreign == trace or foreign.startswith(f"{trace}:")
