"""A large trace, read in a process of its own: it takes seconds and hundreds of megabytes, and whoever asks
something of the server meanwhile must not wait for either.
``python -m agents.telemetry.reading.trace_worker`` is that process.

It is told reports (JSON lists of spans) as frames: four bytes that say how many follow, and those; an empty frame
ends the reports of a trace. First come those of the trace, then, once `Told` was answered, those of the others of
its conversation, and an empty frame after the last. It answers by frames, too: `Told`, and of each turn a `Head` and
all of its steps in order, `SLICE` at a time; None after the last turn, or `Failed` instead of all that is left.
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
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.spans import Span

MAX_SPANS, MAX_BYTES = 150_000, 512 * 2**20
"""Spans of a trace that become steps, and their size as JSON."""
STEPS_PER_SLICE = 256
"""Steps that are told together, and stored together."""
MEMORY_BYTES = 6 * 2**30
"""Addresses that the process may have: what needs more cannot be read."""
NICENESS = 5
_LENGTH = 4

_decode = msgspec.json.Decoder(list[Span]).decode


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What a trace is linked by; ``spans`` counts those that were read, ``format`` is that of the first."""

    links: ConversationLinks
    spans: int
    format: str


@dataclass(frozen=True, slots=True)
class TurnHead:
    """A turn without its steps, and of each of these its id and when it began, in microseconds."""

    turn: ExternalTurn
    steps: list[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """Why a trace could not be read."""

    traceback: str


def first_spans(bodies: Iterable[bytes]) -> list[Span]:
    """The first of what reports hold: what a trace may hold has no bound, memory has."""
    found: list[Span] = []
    size = 0
    for body in bodies:
        size += len(body)
        if size > MAX_BYTES and found:
            break
        found += _decode(body)
        if len(found) >= MAX_SPANS:
            break
    return found[:MAX_SPANS]


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "big") + body


def slice_count(steps: int) -> int:
    """How many answers the steps of a turn are."""
    return -(-steps // STEPS_PER_SLICE)


# ------------------------------------------------------------------------------------------- answers

_MODELS: dict[str, type[BaseModel]] = {"output": CompletionMessage, "error": ErrorInfo, "usage": Usage}


def _wire(kind: type[msgspec.Struct], **other: Any) -> Any:
    """A record whose fields of Pydantic's are their JSON, and those that are ``other``."""
    of_fields = [
        (one.name, bytes | None if one.name in _MODELS else other.get(one.name, one.type)) for one in fields(kind)
    ]
    return msgspec.defstruct(f"Wire{kind.__name__}", of_fields, array_like=True, gc=False)


_Turn = _wire(ExternalTurn, input=bytes, steps=list[tuple[str, int | None]])
_Step = _wire(ExternalStep, detail=bytes)
_Steps: Any = list.__class_getitem__(_Step)
_ANSWERS: dict[bytes, Any] = {b"t": TraceSummary, b"h": _Turn, b"s": _Steps, b"e": None, b"f": ReadFailure}
_READ = {tag: msgpack.Decoder(kind).decode for tag, kind in _ANSWERS.items()}
_write = msgpack.Encoder().encode


def _packed(record: Any, kind: Any, **other: Any) -> Any:
    values = []
    for name in kind.__struct_fields__:
        value = other[name] if name in other else getattr(record, name)
        values.append(value.model_dump_json().encode() if name in _MODELS and value is not None else value)
    return kind(*values)


def _unpacked(wire: Any, kind: Any, **other: Any) -> Any:
    values = {name: getattr(wire, name) for name in wire.__struct_fields__}
    for name, model in _MODELS.items():
        if values.get(name) is not None:
            values[name] = model.model_validate_json(values[name])
    return kind(**{**values, **other})


def encode_answer(answer: TraceSummary | ReadFailure | TurnHead | list[ExternalStep] | None) -> bytes:
    """An answer as a frame."""
    match answer:
        case None:
            tag, body = b"e", None
        case TurnHead():
            asked = MESSAGES.dump_json(list(answer.turn.input))
            tag, body = b"h", _packed(answer.turn, _Turn, input=asked, steps=answer.steps)
        case list():
            tag = b"s"
            body = [_packed(step, _Step, detail=step.detail.model_dump_json().encode()) for step in answer]
        case _:
            tag, body = (b"t" if isinstance(answer, TraceSummary) else b"f"), answer
    return frame(tag + _write(body))


def decode_answer(body: bytes) -> TraceSummary | ReadFailure | TurnHead | list[ExternalStep] | None:
    """The answer that is in a frame."""
    tag, found = body[:1], _READ[body[:1]](body[1:])
    if tag == b"h":
        turn = _unpacked(found, ExternalTurn, input=tuple(MESSAGES.validate_json(found.input)), steps=())
        return TurnHead(turn, found.steps)
    if tag == b"s":
        return [_unpacked(one, ExternalStep, detail=DETAILS[one.type].model_validate_json(one.detail)) for one in found]
    answer: TraceSummary | ReadFailure | None = found
    return answer


# ---------------------------------------------------------------------------------- inside the process


def _frames(given: BinaryIO) -> Iterator[bytes]:
    while size := int.from_bytes(given.read(_LENGTH), "big"):
        yield given.read(size)


def _trace(given: BinaryIO) -> list[Span]:
    """The spans of one trace; what is too much of it is passed over."""
    frames = _frames(given)
    found = _lean(first_spans(frames))
    for _ in frames:
        pass
    return found


def _lean(spans: list[Span]) -> list[Span]:
    """The same, with what most of them say alike kept once."""
    words: dict[str, str] = {}
    last: Span | None = None
    for span in spans:
        for name in ("trace", "parent", "name", "scope", "scope_version"):
            word = getattr(span, name)
            setattr(span, name, words.setdefault(word, word))
        if last is not None and span.resource == last.resource:
            span.resource = last.resource
        last = span
    return spans


def answer_frames(given: BinaryIO) -> Iterator[bytes]:
    """All that is answered to what is read, as frames."""
    spans = _trace(given)
    links, records = turns.build_turns_and_links(spans)
    yield encode_answer(TraceSummary(links, len(spans), spans[0].format if spans else "otlp"))
    others: list[Span] = []
    while more := _trace(given):
        others += more
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
    gc.disable()  # nothing here goes in circles for long, and all of it goes with the process
    try:
        failed = _answer()
    except MemoryError:
        failed = "It needs more memory than a trace may have."  # told below, where what it had is free again
    if failed:
        _tell(encode_answer(ReadFailure(failed)))


def _answer() -> str:
    """Tell all answers; why that failed."""
    try:
        for answer in answer_frames(sys.stdin.buffer):
            _tell(answer)
    except BrokenPipeError:
        os._exit(1)  # nobody listens any more
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - returned as text, which the server raises again
        return traceback.format_exc(limit=-5)
    return ""


def _tell(answer: bytes) -> None:
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
