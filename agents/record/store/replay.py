"""Stores and replays a turn's log: events and deltas while it runs, one pack once it has ended.

The pack has only the lengths of deltas; their text is taken from the finished step, so that a
replay is the same to the byte. Where that is not possible (the step was cut) the pack keeps the
text.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import msgspec

from agents.base import ids
from agents.base.store import encoding
from agents.base.store.sql import Insert, Select, SelectAmong, execute_later
from agents.record.models.journal import DeltaBatch, Event, EventPack
from agents.record.models.turns import StepDetail
from agents.record.schemas.content import text_of
from agents.record.schemas.delta_runs import DeltaRun, joined, runs_of
from agents.record.schemas.events import EVENT, START, Cursor, Delta, Entry, InferenceDetail, StepEnded, position
from agents.record.schemas.events import Event as AnyEvent
from agents.record.store import large_values

_encode, _decode = msgspec.json.encode, msgspec.json.decode


NONE_ENCODED: Mapping[int, bytes] = MappingProxyType({})
_ADD_EVENT = Insert(Event, "turn_id seq body", once=True)
_ADD_DELTAS = Insert(DeltaBatch, "turn_id after first_ordinal body", once=True)
_PUT_PACK = Insert(EventPack, "turn_id event_count body", replace="turn_id")
_EVENTS = Select(Event, "body", "turn_id = %s ORDER BY seq")
_BODIES_AFTER = Select(Event, "body", "turn_id = %s AND seq > %s ORDER BY seq")
_EVENTS_AFTER = Select(Event, "seq body", "turn_id = %s AND seq > %s ORDER BY seq LIMIT %s")
_DELTAS = Select(DeltaBatch, "body", "turn_id = %s ORDER BY after, first_ordinal")
_DELTAS_AT = Select(
    DeltaBatch, "body", "turn_id = %s AND after = %s AND first_ordinal <= %s ORDER BY first_ordinal DESC LIMIT 1"
)
_DELTAS_AFTER = Select(
    DeltaBatch, "body", "turn_id = %s AND (after, first_ordinal) > (%s, %s) ORDER BY after, first_ordinal LIMIT %s"
)
_PACK = Select(EventPack, "body event_count", "turn_id = %s")


def store(
    turn: int, events: Sequence[AnyEvent], deltas: Sequence[Delta], encoded: Mapping[int, bytes] = NONE_ENCODED
) -> None:
    """Store new events and deltas of a running turn. Repeated ones are stored once. ``encoded`` are events as
    `encode_events` gives them."""
    _ADD_EVENT.execute_many((turn, event.seq, encoded.get(event.seq) or _encode_event(event)) for event in events)
    _store_runs(turn, runs_of(deltas))


def store_deltas(batches: Iterable[tuple[int, Sequence[Delta]]]) -> None:
    """Store new deltas of several turns."""
    _ADD_DELTAS.execute_many(
        (turn, run.after, run.ordinal, _encode(run.row())) for turn, deltas in batches for run in runs_of(deltas)
    )


def _store_runs(turn: int, runs: Iterable[DeltaRun]) -> None:
    _ADD_DELTAS.execute_many((turn, run.after, run.ordinal, _encode(run.row())) for run in runs)


def _stored_runs(rows: Iterable[tuple[Any, ...]]) -> Iterator[DeltaRun]:
    """Decode stored runs one by one: all of them at once would take much memory."""
    return (DeltaRun(*_decode(bytes(body))) for (body,) in rows)


def encode_events(events: Iterable[AnyEvent]) -> dict[int, bytes]:
    """Encode events for storage, by their numbers: outside the writer's thread, which then need not do it."""
    return {event.seq: _encode_event(event) for event in events}


def _encode_event(event: AnyEvent) -> bytes:
    """Encode an event without its detail, which its step has."""
    leave = {"detail"} if isinstance(event, StepEnded) else None
    return event.model_dump_json(exclude=leave, exclude_none=True).encode()


def pack(turn: int, events: Sequence[AnyEvent], deltas: Sequence[Delta]) -> None:
    """Close a turn's log: what is stored of it and these last events and deltas become one row."""
    event_bodies = [bytes(body) for (body,) in _EVENTS.all(turn)]
    delta_rows = _DELTAS.all(turn)
    runs = joined(itertools.chain(_stored_runs(delta_rows), runs_of(deltas)))
    details = {event.step: event.detail for event in events if isinstance(event, StepEnded)}
    for step, step_runs in itertools.groupby(runs, key=_step):
        texts = _texts(details[step] if step in details else _stored_detail(step))
        for run in step_runs:
            _drop_redundant_text(run, texts)
    bodies = [*event_bodies, *map(_encode_event, events)]
    body = b'{"events":[%b],"deltas":%b}' % (b",".join(bodies), _encode([run.row() for run in runs]))
    _PUT_PACK.later(turn, len(bodies), encoding.pack_always(body))
    execute_later("DELETE FROM agents_event WHERE turn_id = %s", turn)
    if delta_rows:
        execute_later("DELETE FROM agents_deltabatch WHERE turn_id = %s", turn)


def _step(run: DeltaRun) -> int:
    return run.step


_Texts = dict[tuple[str, int], str]


def _texts(detail: Any) -> _Texts:
    """Return the final text of each channel of an inference."""
    if not isinstance(detail, InferenceDetail):
        return {}
    calls = {("call", index): call.arguments_json or "" for index, call in enumerate(detail.model_response.tool_calls)}
    return {("text", 0): text_of(detail.model_response.content), ("reasoning", 0): detail.reasoning, **calls}


class _TurnDeleted(Exception):
    """A turn was deleted while its log was read."""


def _stored_detail(step: int) -> InferenceDetail | None:
    """Read the detail of an inference; None for another step, or one that has not ended."""
    row = next(iter(_details({step})), None)
    if row is None or "model_response" not in row[1]:
        return None
    return InferenceDetail.model_validate(row[1])


def _drop_redundant_text(run: DeltaRun, texts: _Texts) -> None:
    final_text = texts.get((run.channel, run.index), "")
    if final_text[run.offset : run.offset + sum(run.lengths)] == run.text:
        run.text = None


MAX_WINDOW, MAX_WINDOW_BYTES = 4096, 2**20
"""Most entries that are read at once, and most bytes of them: a larger entry is read alone."""
_ROWS = 64
"""Rows of an open log that are read at once: a row of deltas holds a quarter of a second of them."""
_LOGPROB_BYTES = 1024
"""What the probabilities of a token may take, with those of the most likely others."""
_DETAILS = 16
"""Steps whose details are read together."""
_DETAILS_OF = SelectAmong(StepDetail, "step_id encoding body", "step_id")


def windows(turn: int, after: Cursor = START) -> Iterator[list[Entry]]:
    """Yield all of a turn's events and deltas after a cursor, in order, a window at a time."""
    while entries := window(turn, after):
        yield entries
        after = position(entries[-1])


def load(turn: int, after: Cursor = START) -> list[Entry]:
    """Return all of a turn's events and deltas after a cursor."""
    return [entry for batch in windows(turn, after) for entry in batch]


def window(turn: int, after: Cursor, limit: int = MAX_WINDOW) -> list[Entry]:
    """Return the next events and deltas of a turn after a cursor, in order, at most ``limit``; empty at the end."""
    packed = _PACK.first(turn)
    if packed is None:
        entries = _bounded(_of_open_log(turn, after), limit)
        packed = _PACK.first(turn)
        if packed is None:  # else it was packed in this moment
            return entries
    return _bounded(_of_pack(bytes(packed[0]), after, limit), limit)


def _bounded(weighed: Iterable[tuple[Entry, int]], limit: int) -> list[Entry]:
    """Take at most ``limit`` entries and `MAX_WINDOW_BYTES`; of a turn that is deleted meanwhile, those read so far."""
    entries: list[Entry] = []
    weight = 0
    with suppress(_TurnDeleted):
        for entry, size in weighed:
            weight += size
            if entries and (weight > MAX_WINDOW_BYTES or len(entries) == limit):
                break
            entries.append(entry)
    return entries


def event_bodies(turn: int, after: int = -1) -> list[bytes]:
    """Return a turn's events after that number, in order and as they are stored: encoded, without the details of
    steps."""
    packed = _PACK.first(turn)
    if packed is None:
        rows = _BODIES_AFTER.all(turn, after)
        packed = _PACK.first(turn)
        if packed is None:  # else it was packed in this moment
            return [bytes(body) for (body,) in rows]
    body, count = packed
    return [] if count <= after + 1 else [bytes(event) for event in _unpack(bytes(body)).events[after + 1 :]]


def reopen(turn: int) -> None:
    """Unpack a log into rows: its turn is resumed."""
    packed = _PACK.first(turn)
    if packed is None:
        return
    log = _unpack(bytes(packed[0]))
    _ADD_EVENT.execute_many((turn, seq, bytes(body)) for seq, body in enumerate(log.events))
    runs = [DeltaRun(*row) for row in log.deltas]
    for run in runs:
        _fill(run)
    _store_runs(turn, runs)
    execute_later("DELETE FROM agents_eventpack WHERE turn_id = %s", turn)


def typed_text(turn: int, step: int, channel: str = "text") -> str:
    """Return the stored deltas of a step's channel as one text, while its turn runs."""
    runs = [run for run in _stored_runs(_DELTAS.all(turn)) if (run.step, run.channel) == (step, channel)]
    return "".join(run.text or "" for run in runs)


_Weighed = Iterator[tuple[Entry, int]]
"""Entries, and how many bytes each holds."""


def _of_open_log(turn: int, after: Cursor) -> _Weighed:
    seq, ordinal = after
    # events before deltas: what is committed in between then comes after the events read here
    rows = _EVENTS_AFTER.all(turn, seq, _ROWS)
    last_complete = max([seq, *(row[0] for row in rows)])
    delta_rows = _DELTAS_AFTER.all(turn, seq, ordinal, _ROWS)
    runs = [DeltaRun(*_decode(bytes(body))) for (body,) in [*_DELTAS_AT.all(turn, seq, ordinal), *delta_rows]]
    if len(delta_rows) == _ROWS:
        last_complete = min(last_complete, runs[-1].after)  # of what is behind that event not all is here
    events = [(number, bytes(body)) for number, body in rows if number <= last_complete]
    return _in_order(events, [run for run in runs if run.after <= last_complete], after)


class _Log(msgspec.Struct):
    """A packed log. Events are numbered from 0, so their place is their number."""

    events: list[msgspec.Raw]
    deltas: list[list[Any]]


_read_log = msgspec.json.Decoder(_Log).decode


def _unpack(body: bytes) -> _Log:
    return _read_log(encoding.unpack(encoding.ZSTD, body))


def _of_pack(body: bytes, after: Cursor, limit: int) -> _Weighed:
    log, seq = _unpack(body), after[0]
    events = [(number, bytes(log.events[number])) for number in range(seq + 1, min(len(log.events), seq + 1 + limit))]
    last = events[-1][0] if events else seq
    return _in_order(events, [DeltaRun(*row) for row in log.deltas if seq <= row[0] <= last], after)


def _in_order(events: Sequence[tuple[int, bytes]], runs: Iterable[DeltaRun], after: Cursor) -> _Weighed:
    """Yield events with the deltas after each; their details are read from the steps."""
    seq, ordinal = after
    by_event: dict[int, list[DeltaRun]] = {}
    for run in runs:
        by_event.setdefault(run.after, []).append(run)
    yield from _delta_entries(by_event.get(seq, ()), ordinal)
    for start in range(0, len(events), _DETAILS):
        decoded = [(number, len(body), _decode(body)) for number, body in events[start : start + _DETAILS]]
        ended_steps = {_step_of(raw) for _, _, raw in decoded if raw["type"] == "step.ended"}
        details = {step: (detail, size) for step, detail, size in _details(ended_steps)}
        for number, size, raw in decoded:
            if raw["type"] == "step.ended":
                if _step_of(raw) not in details:
                    raise _TurnDeleted
                raw["detail"], detail_size = details[_step_of(raw)]
                size += detail_size
            yield EVENT.validate_python(raw), size
            yield from _delta_entries(by_event.get(number, ()))


def _delta_entries(runs: Iterable[DeltaRun], after: int = 0) -> _Weighed:
    for run in sorted(runs, key=_ordinal):
        if run.last > after:
            _fill(run)
            for delta in run.deltas(after):
                yield delta, len(delta.text) + _LOGPROB_BYTES * len(delta.logprobs)


def _fill(run: DeltaRun) -> None:
    """Give a run its text, from the step it built up."""
    if run.text is None:
        detail = _stored_detail(run.step)
        if detail is None:
            raise _TurnDeleted
        text = _texts(detail)[run.channel, run.index]
        run.text = text[run.offset : run.offset + sum(run.lengths)]


def _ordinal(run: DeltaRun) -> int:
    return run.ordinal


def _step_of(raw: dict[str, Any]) -> int:
    step = ids.parse(ids.Kind.STEP, raw["step"])
    assert step is not None  # the recorder wrote it
    return step


def _details(steps: Collection[int]) -> Iterator[tuple[int, Any, int]]:
    """Yield (step, detail, size in bytes) of these steps."""
    if not steps:
        return
    for step, kind, body in _DETAILS_OF.all(tuple(steps)):
        detail = large_values.unpack(step, kind, body)
        yield step, _decode(detail), len(detail)
