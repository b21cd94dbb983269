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
from agents.telemetry.reading.conversation_links import Links
from agents.telemetry.reading.records import ForeignStep, ForeignTurn
from agents.telemetry.reading.spans import Span

MOST_SPANS, MOST_BYTES = 150_000, 512 * 2**20
"""Spans of a trace that become steps, and their size as JSON."""
SLICE = 256
"""Steps that are told together, and stored together."""
MEMORY_BYTES = 6 * 2**30
"""Addresses that the process may have: what needs more cannot be read."""
NICE = 5
_LENGTH = 4

_decode = msgspec.json.Decoder(list[Span]).decode


@dataclass(frozen=True, slots=True)
class Told:
    """What a trace is linked by; ``spans`` counts those that were read, ``format`` is that of the first."""

    links: Links
    spans: int
    format: str


@dataclass(frozen=True, slots=True)
class Head:
    """A turn without its steps, and of each of these its id and when it began, in microseconds."""

    turn: ForeignTurn
    steps: list[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a trace could not be read."""

    trace: str


def first_spans(bodies: Iterable[bytes]) -> list[Span]:
    """The first of what reports hold: what a trace may hold has no bound, memory has."""
    found: list[Span] = []
    size = 0
    for body in bodies:
        size += len(body)
        if size > MOST_BYTES and found:
            break
        found += _decode(body)
        if len(found) >= MOST_SPANS:
            break
    return found[:MOST_SPANS]


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(_LENGTH, "big") + body


def slices(steps: int) -> int:
    """How many answers the steps of a turn are."""
    return -(-steps // SLICE)


# ------------------------------------------------------------------------------------------- answers

_MODELS: dict[str, type[BaseModel]] = {"output": CompletionMessage, "error": ErrorInfo, "usage": Usage}


def _wire(kind: type[msgspec.Struct], **other: Any) -> Any:
    """A record whose fields of Pydantic's are their JSON, and those that are ``other``."""
    of_fields = [
        (one.name, bytes | None if one.name in _MODELS else other.get(one.name, one.type)) for one in fields(kind)
    ]
    return msgspec.defstruct(f"Wire{kind.__name__}", of_fields, array_like=True, gc=False)


_Turn = _wire(ForeignTurn, input=bytes, steps=list[tuple[str, int | None]])
_Step = _wire(ForeignStep, detail=bytes)
_Steps: Any = list.__class_getitem__(_Step)
_ANSWERS: dict[bytes, Any] = {b"t": Told, b"h": _Turn, b"s": _Steps, b"e": None, b"f": Failed}
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


def written(answer: Told | Failed | Head | list[ForeignStep] | None) -> bytes:
    """An answer as a frame."""
    match answer:
        case None:
            tag, body = b"e", None
        case Head():
            asked = MESSAGES.dump_json(list(answer.turn.input))
            tag, body = b"h", _packed(answer.turn, _Turn, input=asked, steps=answer.steps)
        case list():
            tag = b"s"
            body = [_packed(step, _Step, detail=step.detail.model_dump_json().encode()) for step in answer]
        case _:
            tag, body = (b"t" if isinstance(answer, Told) else b"f"), answer
    return frame(tag + _write(body))


def read(body: bytes) -> Told | Failed | Head | list[ForeignStep] | None:
    """The answer that is in a frame."""
    tag, found = body[:1], _READ[body[:1]](body[1:])
    if tag == b"h":
        turn = _unpacked(found, ForeignTurn, input=tuple(MESSAGES.validate_json(found.input)), steps=())
        return Head(turn, found.steps)
    if tag == b"s":
        return [_unpacked(one, ForeignStep, detail=DETAILS[one.type].model_validate_json(one.detail)) for one in found]
    answer: Told | Failed | None = found
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


def answers(given: BinaryIO) -> Iterator[bytes]:
    """All that is answered to what is read, as frames."""
    spans = _trace(given)
    links, records = turns.with_links(spans)
    yield written(Told(links, len(spans), spans[0].format if spans else "otlp"))
    others: list[Span] = []
    while more := _trace(given):
        others += more
    if others:
        _, records = turns.with_links([*spans, *others])
    del spans, others
    while records:
        record = records.pop(0)
        steps = list(record.steps)
        yield written(Head(replace(record, steps=()), [(step.id, step.started_us) for step in steps]))
        del record
        for start in range(0, len(steps), SLICE):
            yield written(steps[start : start + SLICE])
    yield written(None)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    os.nice(NICE)
    gc.disable()  # nothing here goes in circles for long, and all of it goes with the process
    try:
        failed = _answer()
    except MemoryError:
        failed = "It needs more memory than a trace may have."  # told below, where what it had is free again
    if failed:
        _tell(written(Failed(failed)))


def _answer() -> str:
    """Tell all answers; why that failed."""
    try:
        for answer in answers(sys.stdin.buffer):
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
