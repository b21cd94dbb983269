"""Worker process that reads one large trace, which takes seconds and hundreds of megabytes, so that the server's other
requests wait for neither. Run as ``python -m agents.telemetry.reading.trace_worker``.

It receives reports (JSON lists of spans) as frames: four bytes with the length, then the content; an empty frame
ends the reports of a trace. First come those of the trace, then, after its `TraceSummary`, those of the others of
its conversation, and an empty frame after the last. It sends frames, too: `TraceSummary`, and of each turn a `TurnHead`
and all of its steps in order, `STEPS_PER_SLICE` at a time; None after the last turn, or `ReadFailure` instead of all
that would follow.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
from msgspec import msgpack
from msgspec.structs import fields, replace
from pydantic import BaseModel

from agents.record.schemas.content import CompletionMessage, Usage
from agents.record.schemas.events import DETAILS, ErrorInfo
from agents.record.schemas.turns import MESSAGES
from agents.telemetry.reading import turns
from agents.telemetry.reading.conversation_links import ConversationLinks
from agents.telemetry.reading.merging import is_same
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span

MAX_SPANS, MAX_BYTES = 150_000, 512 * 2**20
"""Bounds of a trace: the spans that become steps, and their size as JSON."""
STEPS_PER_SLICE = 256
"""Steps that are sent together, and stored together."""
MEMORY_BYTES = 6 * 2**30
"""Address space of the process: a trace that needs more cannot be read."""
NICENESS = 5
_LENGTH = 4

_decode = msgspec.json.Decoder(list[Span]).decode


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """The links of a trace; ``spans`` counts those that were read, ``format`` is that of the first."""

    links: ConversationLinks
    spans: int
    format: str


@dataclass(frozen=True, slots=True)
class TurnHead:
    """A turn without its steps, and the id and start time of each step, in microseconds."""

    turn: ExternalTurn
    steps: list[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """The reason why a trace could not be read."""

    traceback: str


def first_spans(bodies: Iterable[bytes]) -> list[Span]:
    """Decode the first spans of the reports: a trace has no bound, memory has."""
    spans: list[Span] = []
    size = 0
    for body in bodies:
        size += len(body)
        if size > MAX_BYTES and spans:
            break
        spans += _decode(body)
        if len(spans) >= MAX_SPANS:
            break
    return spans[:MAX_SPANS]


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "big") + body


def slice_count(steps: int) -> int:
    """Return the number of frames that hold a turn's steps."""
    return -(-steps // STEPS_PER_SLICE)


# ------------------------------------------------------------------------------------------- answers

_MODELS: dict[str, type[BaseModel]] = {"output": CompletionMessage, "error": ErrorInfo, "usage": Usage}


def _wire(kind: type[msgspec.Struct], **overrides: Any) -> Any:
    """Define the wire form of a record: fields of Pydantic's are their JSON, and ``overrides`` have another type."""
    wire_fields = [
        (field.name, bytes | None if field.name in _MODELS else overrides.get(field.name, field.type))
        for field in fields(kind)
    ]
    return msgspec.defstruct(f"Wire{kind.__name__}", wire_fields, array_like=True, gc=False)


_Turn = _wire(ExternalTurn, input=bytes, steps=list[tuple[str, int | None]])
_Step = _wire(ExternalStep, detail=bytes)
_Steps: Any = list.__class_getitem__(_Step)
_ANSWERS: dict[bytes, Any] = {b"t": TraceSummary, b"h": _Turn, b"s": _Steps, b"e": None, b"f": ReadFailure}
_DECODERS = {tag: msgpack.Decoder(kind).decode for tag, kind in _ANSWERS.items()}
_encode = msgpack.Encoder().encode


def _to_wire(record: Any, kind: Any, **overrides: Any) -> Any:
    values = []
    for name in kind.__struct_fields__:
        value = overrides[name] if name in overrides else getattr(record, name)
        values.append(value.model_dump_json().encode() if name in _MODELS and value is not None else value)
    return kind(*values)


def _from_wire(wire: Any, kind: Any, **overrides: Any) -> Any:
    values = {name: getattr(wire, name) for name in wire.__struct_fields__}
    for name, model in _MODELS.items():
        if values.get(name) is not None:
            values[name] = model.model_validate_json(values[name])
    return kind(**{**values, **overrides})


def encode_answer(answer: TraceSummary | ReadFailure | TurnHead | list[ExternalStep] | None) -> bytes:
    """Encode an answer as a frame."""
    match answer:
        case None:
            tag, body = b"e", None
        case TurnHead():
            input_json = MESSAGES.dump_json(list(answer.turn.input))
            tag, body = b"h", _to_wire(answer.turn, _Turn, input=input_json, steps=answer.steps)
        case list():
            tag = b"s"
            body = [_to_wire(step, _Step, detail=step.detail.model_dump_json().encode()) for step in answer]
        case _:
            tag, body = (b"t" if isinstance(answer, TraceSummary) else b"f"), answer
    return frame(tag + _encode(body))


def decode_answer(body: bytes) -> TraceSummary | ReadFailure | TurnHead | list[ExternalStep] | None:
    """Decode the content of a frame."""
    tag, payload = body[:1], _DECODERS[body[:1]](body[1:])
    if tag == b"h":
        turn = _from_wire(payload, ExternalTurn, input=tuple(MESSAGES.validate_json(payload.input)), steps=())
        return TurnHead(turn, payload.steps)
    if tag == b"s":
        return [
            _from_wire(step, ExternalStep, detail=DETAILS[step.type].model_validate_json(step.detail))
            for step in payload
        ]
    answer: TraceSummary | ReadFailure | None = payload
    return answer


# ---------------------------------------------------------------------------------- inside the process


def _frames(stream: BinaryIO) -> Iterator[bytes]:
    while size := int.from_bytes(stream.read(_LENGTH), "big"):
        yield stream.read(size)


def _read_trace(stream: BinaryIO) -> list[Span]:
    """Read the spans of one trace; those beyond the bound are skipped."""
    frames = _frames(stream)
    spans = _interned(first_spans(frames))
    for _ in frames:  # read on to the end of this trace, where the next one begins
        pass
    return spans


def _interned(spans: list[Span]) -> list[Span]:
    """Share equal texts and resources between spans, to save memory."""
    interned: dict[str, str] = {}
    last: Span | None = None
    for span in spans:
        for name in ("trace", "parent", "name", "scope", "scope_version"):
            value = getattr(span, name)
            setattr(span, name, interned.setdefault(value, value))
        if last is not None and is_same(span.resource, last.resource):
            span.resource = last.resource
        last = span
    return spans


def answer_frames(stream: BinaryIO) -> Iterator[bytes]:
    """Read the traces from the stream and iterate over all answers, as frames."""
    spans = _read_trace(stream)
    links, records = turns.build_turns_and_links(spans)
    yield encode_answer(TraceSummary(links, len(spans), spans[0].format if spans else "otlp"))
    others: list[Span] = []
    while trace_spans := _read_trace(stream):
        others += trace_spans
    if others:
        _, records = turns.build_turns_and_links([*spans, *others])
    del spans, others
    while records:
        record = records.pop(0)
        steps = list(record.steps)
        yield encode_answer(TurnHead(replace(record, steps=()), [(step.id, step.started_us) for step in steps]))
        del record
        for start in range(0, len(steps), STEPS_PER_SLICE):
            yield encode_answer(steps[start : start + STEPS_PER_SLICE])
    yield encode_answer(None)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(NICENESS)
    gc.disable()  # reference cycles are few, and the process ends with the trace
    try:
        problem = _send_answers()
    except MemoryError:
        problem = "It needs more memory than a trace may have."  # sent below, where the trace's memory is free again
    if problem:
        _send(encode_answer(ReadFailure(problem)))


def _send_answers() -> str:
    """Send all answers; return why that failed, or ''."""
    try:
        for answer in answer_frames(sys.stdin.buffer):
            _send(answer)
    except BrokenPipeError:
        os._exit(1)  # the server has closed the pipe
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - returned as text, which the server raises again
        return traceback.format_exc(limit=-5)
    return ""


def _send(answer: bytes) -> None:
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
