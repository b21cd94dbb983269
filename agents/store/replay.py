"""A turn's log at rest: events and deltas while it runs, one pack once it has ended.

Of a delta only its length is kept in the end; its text is taken again from the step it built up,
so that a replay is the same to the byte. Where that is not possible (the step was cut) the pack
keeps the text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents import ids
from agents.models import DeltaBatch, Event, EventPack, StepDetail
from agents.schemas.content import text_of
from agents.schemas.events import EVENT, Delta, Entry, InferenceDetail, StepEnded
from agents.schemas.events import Event as AnyEvent
from agents.store import encoding, large
from agents.store.sql import Insert, Select, execute

_encode, _decode = msgspec.json.encode, msgspec.json.decode


@dataclass(slots=True)
class _Run:
    """Deltas of one channel behind one event, without a gap. ``text`` is None where the step
    still tells it."""

    after: int
    step: int
    channel: Any
    index: int
    offset: int
    ordinal: int
    lengths: list[int]
    text: str | None

    def row(self) -> list[Any]:
        return [self.after, self.step, self.channel, self.index, self.offset, self.ordinal, self.lengths, self.text]

    def deltas(self) -> Iterator[Delta]:
        offset, place = self.offset, 0
        assert self.text is not None  # filled in by the reader
        for number, length in enumerate(self.lengths):
            text = self.text[place : place + length]
            ordinal = self.ordinal + number
            yield Delta(self.step, self.channel, offset, text, self.after, ordinal, self.index)
            offset, place = offset + length, place + length


def _runs(deltas: Iterable[Delta]) -> list[_Run]:
    """Deltas in order, joined to runs; one that was seen already (a batch sent twice) is dropped."""
    runs: list[_Run] = []
    pieces: list[str] = []
    expected: tuple[object, ...] = ()
    last = (-1, 0)
    for delta in deltas:
        if (delta.after, delta.ordinal) <= last:
            continue
        last = (delta.after, delta.ordinal)
        place = (delta.after, delta.step, delta.channel, delta.index, delta.offset, delta.ordinal)
        if not runs or place != expected:
            _close(runs, pieces)
            runs.append(_Run(*place, [], None))
        runs[-1].lengths.append(len(delta.text))
        pieces.append(delta.text)
        expected = (*place[:4], delta.offset + len(delta.text), delta.ordinal + 1)
    _close(runs, pieces)
    return runs


def _close(runs: list[_Run], pieces: list[str]) -> None:
    if runs:
        runs[-1].text = "".join(pieces)
    pieces.clear()


_ADD_EVENT = Insert(Event, "turn_id seq body", once=True)
_ADD_DELTAS = Insert(DeltaBatch, "turn_id after first_ordinal body", once=True)
_PUT_PACK = Insert(EventPack, "turn_id event_count body", replace="turn_id")
_EVENTS = Select(Event, "body", "turn_id = %s ORDER BY seq")
_DELTAS = Select(DeltaBatch, "body", "turn_id = %s ORDER BY after, first_ordinal")
_PACK = Select(EventPack, "body", "turn_id = %s")


def keep(turn: int, events: Sequence[AnyEvent], deltas: Sequence[Delta]) -> None:
    """Store what happened and what was typed since the last time, while the turn runs. What is
    kept twice is kept once."""
    _ADD_EVENT.many((turn, event.seq, _slim(event)) for event in events)
    _keep_runs(turn, _runs(deltas))


def keep_typing(batches: Iterable[tuple[int, Sequence[Delta]]]) -> None:
    """Store what was typed in several turns since the last time."""
    _ADD_DELTAS.many(
        (turn, run.after, run.ordinal, _encode(run.row())) for turn, deltas in batches for run in _runs(deltas)
    )


def _keep_runs(turn: int, runs: Iterable[_Run]) -> None:
    _ADD_DELTAS.many((turn, run.after, run.ordinal, _encode(run.row())) for run in runs)


def _kept(turn: int) -> list[_Run]:
    return [_Run(*_decode(bytes(body))) for (body,) in _DELTAS.all(turn)]


def _slim(event: AnyEvent) -> bytes:
    """An event as stored: without the detail, which its step keeps anyway."""
    leave = {"detail"} if isinstance(event, StepEnded) else None
    return event.model_dump_json(exclude=leave, exclude_none=True).encode()


def pack(turn: int, events: Sequence[AnyEvent], deltas: Sequence[Delta]) -> None:
    """Close a turn's log: what is stored of it and these last events and deltas become one row."""
    stored = [bytes(body) for (body,) in _EVENTS.all(turn)]
    kept = _kept(turn)
    runs = _runs([*itertools.chain.from_iterable(run.deltas() for run in kept), *deltas])
    texts = _texts((event.step, event.detail) for event in events if isinstance(event, StepEnded))
    if not {run.step for run in runs} <= {step for step, _, _ in texts}:
        texts = _stored_texts(turn) | texts
    for run in runs:
        _drop_known_text(run, texts)
    bodies = [*stored, *map(_slim, events)]
    body = b'{"events":[%b],"deltas":%b}' % (b",".join(bodies), _encode([run.row() for run in runs]))
    _PUT_PACK.one(turn, len(bodies), encoding.pack_always(body))
    execute("DELETE FROM agents_event WHERE turn_id = %s", turn)
    if kept:
        execute("DELETE FROM agents_deltabatch WHERE turn_id = %s", turn)


_Texts = dict[tuple[int, str, int], str]


def _texts(details: Iterable[tuple[int, Any]]) -> _Texts:
    """What each channel of each inference said in the end."""
    texts: _Texts = {}
    for step, detail in details:
        if isinstance(detail, InferenceDetail):
            texts[step, "text", 0] = text_of(detail.model_response.content)
            texts[step, "reasoning", 0] = detail.reasoning
            for index, call in enumerate(detail.model_response.tool_calls):
                texts[step, "call", index] = call.arguments_json or ""
    return texts


def _stored_texts(turn: int) -> _Texts:
    details = _details(turn).items()
    return _texts((step, InferenceDetail.model_validate(raw)) for step, raw in details if "model_response" in raw)


def _drop_known_text(run: _Run, texts: _Texts) -> None:
    told = texts.get((run.step, run.channel, run.index), "")
    if told[run.offset : run.offset + sum(run.lengths)] == run.text:
        run.text = None


def load(turn: int, after: tuple[int, int] = (-1, 0)) -> list[Entry]:
    """A turn's events and deltas behind a cursor, in order, from the store."""
    packed = _PACK.first(turn)
    events, runs = _unpack(turn, packed[0]) if packed else _open_log(turn)
    return list(_behind(events, runs, after))


def reopen(turn: int) -> None:
    """Lay a packed log open again: its turn goes on."""
    packed = _PACK.first(turn)
    if packed is None:
        return
    events, runs = _unpack(turn, packed[0])
    _ADD_EVENT.many((turn, event.seq, _slim(event)) for event in events)
    _keep_runs(turn, runs)
    execute("DELETE FROM agents_eventpack WHERE turn_id = %s", turn)


def typed_text(turn: int, step: int, channel: str = "text") -> str:
    """What is stored of a step's typing while its turn runs."""
    runs = [run for run in _kept(turn) if (run.step, run.channel) == (step, channel)]
    return "".join(run.text or "" for run in runs)


def _open_log(turn: int) -> tuple[list[AnyEvent], list[_Run]]:
    # deltas before events: an event committed in between then only adds, it never leaves a hole
    runs = _kept(turn)
    events = _whole(turn, [_decode(bytes(body)) for (body,) in _EVENTS.all(turn)])
    packed = None if events else _PACK.first(turn)
    return _unpack(turn, packed[0]) if packed else (events, runs)  # packed in this moment


def _unpack(turn: int, body: bytes) -> tuple[list[AnyEvent], list[_Run]]:
    log = _decode(encoding.unpack(encoding.ZSTD, body))
    events = _whole(turn, log["events"])
    texts = _texts((event.step, event.detail) for event in events if isinstance(event, StepEnded))
    runs = [_Run(*row) for row in log["deltas"]]
    for run in runs:
        if run.text is None:
            told = texts[run.step, run.channel, run.index]
            run.text = told[run.offset : run.offset + sum(run.lengths)]
    return events, runs


def _whole(turn: int, raw: list[dict[str, Any]]) -> list[AnyEvent]:
    """Events with the details their steps keep."""
    if any(event["type"] == "step.ended" for event in raw):
        details = {ids.public(ids.Kind.STEP, step): detail for step, detail in _details(turn).items()}
        raw = [{**one, "detail": details[one["step"]]} if one["type"] == "step.ended" else one for one in raw]
    return [EVENT.validate_python(event) for event in raw]


def _details(turn: int) -> dict[int, Any]:
    rows = StepDetail.objects.filter(step__turn_id=turn).values_list("step_id", "encoding", "body")
    return {step: _decode(large.unpack(step, kind, body)) for step, kind, body in rows}


def _behind(events: list[AnyEvent], runs: list[_Run], after: tuple[int, int]) -> Iterator[Entry]:
    by_event: dict[int, list[Delta]] = {}
    for run in runs:
        by_event.setdefault(run.after, []).extend(run.deltas())
    seq, ordinal = after
    for delta in sorted(by_event.get(seq, ()), key=_ordinal):
        if delta.ordinal > ordinal:
            yield delta
    for event in events:
        if event.seq > seq:
            yield event
            yield from sorted(by_event.get(event.seq, ()), key=_ordinal)


def _ordinal(delta: Delta) -> int:
    return delta.ordinal
