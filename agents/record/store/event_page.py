"""Reads a page of a turn's log: a number of events, with the deltas after each.

Only the shown events are decoded, so that the log of a hundred thousand steps opens as quickly as a
short one. The caller has checked that the turn is visible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from agents.base import ids
from agents.base.store import encoding
from agents.base.store.sql import Select
from agents.base.timestamps import to_us
from agents.record.models.journal import DeltaBatch, Event, EventPack
from agents.record.models.turns import StepDetail
from agents.record.store import large_values


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event; ``body`` is its JSON, ``cut`` the bytes of the long texts that its detail only begins."""

    seq: int
    type: str
    at: int
    name: str
    body: bytes
    cut: int


@dataclass(frozen=True, slots=True)
class DeltaLine:
    """Consecutive deltas of one channel after an event: how many, of how many characters, and the beginning of the
    text."""

    after: int
    ordinal: int
    channel: str
    count: int
    letters: int
    text: str


class _Run(msgspec.Struct, array_like=True):
    after: int
    step: int
    channel: str
    index: int
    offset: int
    ordinal: int
    lengths: list[int]
    text: str | None


class _Pack(msgspec.Struct):
    events: list[msgspec.Raw]
    deltas: list[_Run]


class _Head(msgspec.Struct):
    seq: int
    type: str
    at: datetime
    step: str = ""
    name: str = ""


_PACK = Select(EventPack, "body", "turn_id = %s")
_EVENTS = Select(Event, "body", "turn_id = %s AND seq >= %s AND seq < %s ORDER BY seq")
_BATCHES = Select(DeltaBatch, "body", "turn_id = %s AND after >= %s AND after < %s ORDER BY after, first_ordinal")
_pack, _head, _run = msgspec.json.Decoder(_Pack), msgspec.json.Decoder(_Head), msgspec.json.Decoder(_Run)

LogLine = EventLine | DeltaLine


def lines(turn: int, first: int, count: int) -> list[LogLine]:
    """Return ``count`` events of the log from number ``first`` on, with their deltas."""
    packed = _PACK.first(turn)
    bodies, runs = _packed(packed[0], first, count) if packed else _open(turn, first, count)
    heads = [_head.decode(body) for body in bodies]
    outlines = _outlines({_step(head) for head in heads if head.type == "step.ended"} | {run.step for run in runs})
    deltas_after: dict[int, list[DeltaLine]] = {}
    for run in sorted(runs, key=lambda run: run.ordinal):
        deltas_after.setdefault(run.after, []).append(_delta_line(run, outlines))
    return [
        line
        for head, body in zip(heads, bodies, strict=True)
        for line in (_event_line(head, body, outlines), *deltas_after.get(head.seq, ()))
    ]


def _packed(body: bytes, first: int, count: int) -> tuple[Sequence[bytes], list[_Run]]:
    log = _pack.decode(encoding.unpack(encoding.ZSTD, body))
    bodies = [bytes(raw) for raw in log.events[first : first + count]]
    return bodies, [run for run in log.deltas if first <= run.after < first + count]


def _open(turn: int, first: int, count: int) -> tuple[Sequence[bytes], list[_Run]]:
    batches = _BATCHES.all(turn, first, first + count)
    bodies = [bytes(body) for (body,) in _EVENTS.all(turn, first, first + count)]
    return bodies, [_run.decode(bytes(body)) for (body,) in batches]


def _step(head: _Head) -> int:
    return ids.parse(ids.Kind.STEP, head.step) or 0


def _outlines(steps: Collection[int]) -> dict[int, large_values.Outline]:
    rows = StepDetail.objects.filter(step_id__in=steps).values_list("step_id", "encoding", "body")
    return {step: large_values.outline(kind, body) for step, kind, body in rows}


def _event_line(head: _Head, body: bytes, outlines: Mapping[int, large_values.Outline]) -> EventLine:
    outline = outlines.get(_step(head)) if head.type == "step.ended" else None
    cut = 0
    if outline is not None:
        body = b'%b,"detail":%b}' % (body[:-1], outline.body)
        cut = sum(part.size for part in outline.parts)
    return EventLine(head.seq, head.type, to_us(head.at), head.name, body, cut)


def _delta_line(run: _Run, outlines: Mapping[int, large_values.Outline]) -> DeltaLine:
    letters = sum(run.lengths)
    text = run.text
    if text is None:
        full_text = _channel_text(outlines.get(run.step), run)
        text = full_text[run.offset : run.offset + letters]
    return DeltaLine(run.after, run.ordinal, run.channel, len(run.lengths), letters, text)


class _Call(msgspec.Struct):
    arguments_json: str | None = None


class _Message(msgspec.Struct):
    content: Any = ""
    tool_calls: list[_Call] = []


class _Inference(msgspec.Struct):
    model_response: _Message = msgspec.field(default_factory=_Message)
    reasoning: str = ""


def _channel_text(outline: large_values.Outline | None, run: _Run) -> str:
    """Return the final text of a channel of an inference."""
    inference = msgspec.json.decode(outline.body, type=_Inference) if outline else _Inference()
    calls = inference.model_response.tool_calls
    match run.channel:
        case "text":
            return _text(inference.model_response.content)
        case "reasoning":
            return inference.reasoning
        case _:
            return (calls[run.index].arguments_json or "") if run.index < len(calls) else ""


def _text(content: Any) -> str:
    items: Iterable[Any] = content if isinstance(content, list) else [content]
    return "\n".join(item if isinstance(item, str) else str(item.get("text", "")) for item in items)
