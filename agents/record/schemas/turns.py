"""Snapshots of turns, and the fold that makes them from events.

The store reads the same value from rows; that both are equal is the promise "rows are the truth".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from pydantic import ConfigDict, TypeAdapter

from agents.record.schemas.content import CompletionMessage, TurnMessage, Usage
from agents.record.schemas.events import (
    ErrorInfo,
    Event,
    StepDecided,
    StepEnded,
    StepInDoubt,
    StepRepeated,
    StepStarted,
    StepStatus,
    StepType,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnStatus,
    TurnTakenOver,
)

MESSAGES = TypeAdapter(list[TurnMessage], config=ConfigDict(defer_build=True))
"""Reads and writes the messages a turn was started with."""


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """A text of a detail of which only the beginning was read: its position as a JSON pointer, its full size in
    bytes, and the number under which the store has it."""

    pointer: str
    size: int
    part: int


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """A step as it was read. ``detail`` is the event's detail as JSON without nulls; ``None`` while nothing is known.
    Times are microseconds since 1970. ``cuts`` are the texts that ``detail`` only begins, and ``foreign`` the span id
    of an external step, ``cost_nano`` its cost in billionths of a dollar; all are set only where the step was read for
    a page. ``parent`` is the enclosing step."""

    key: int
    number: int
    round: int
    type: StepType
    name: str
    status: StepStatus
    server_side: bool
    started_at: int
    completed_at: int | None = None
    detail: bytes | None = None
    error: ErrorInfo | None = None
    usage: Usage = field(default_factory=Usage)
    ttft_us: int | None = None
    parent: int | None = None
    foreign: str = ""
    cuts: tuple[TruncatedText, ...] = ()
    cost_nano: int | None = None


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """A turn as it was read, with its ``steps`` in order. ``input_messages`` (an array) and ``output_message`` (None
    while there is no answer) are JSON as encoded, without nulls, so that they can be passed on without parsing.
    ``traceparent`` is the trace that its request belonged to."""

    key: int
    session: int
    status: TurnStatus
    model: str
    started_at: int
    input_messages: bytes
    completed_at: int | None = None
    steps: tuple[StepSnapshot, ...] = ()
    output_message: bytes | None = None
    error: ErrorInfo | None = None
    usage: Usage = field(default_factory=Usage)
    next_seq: int = 0
    traceparent: str = ""


LoadDetail = Callable[[StepSnapshot], StepSnapshot]
"""Adds the large parts of a step's detail that were not read."""


def unchanged(step: StepSnapshot) -> StepSnapshot:
    """Return the step: a `LoadDetail` for steps that are complete."""
    return step


@dataclass(frozen=True, slots=True)
class ItemSnapshot:
    """An item of a session: its chat message(s) as JSON, the form it came in (``wire``), its step, and for a model's
    message the steps of the client's calls in it."""

    key: int
    body: bytes
    wire: bytes = b""
    step: StepSnapshot | None = None
    calls: tuple[StepSnapshot, ...] = ()


def fold(key: int, session: int, events: Iterable[Event]) -> TurnSnapshot:
    """Fold events, all of them from number 0, into a turn. Raises ValueError when the first is not the turn's
    start."""
    stream = iter(events)
    first = next(stream, None)
    if not isinstance(first, TurnStarted):
        raise ValueError("a turn begins with turn.started")
    turn = TurnSnapshot(
        key=key,
        session=session,
        status="in_progress",
        model=first.model,
        started_at=first.at,
        input_messages=MESSAGES.dump_json(first.input_messages, exclude_none=True),
        next_seq=first.seq + 1,
    )
    for event in stream:
        turn = apply(turn, event)
    return turn


def apply(turn: TurnSnapshot, event: Event) -> TurnSnapshot:
    """Return the turn after one more event."""
    next_seq = event.seq + 1
    match event:
        case TurnStarted():
            raise ValueError("a turn begins once")
        case TurnResumed():
            return replace(turn, next_seq=next_seq, status="in_progress", completed_at=None)
        case TurnTakenOver() | StepInDoubt() | StepDecided() | StepRepeated():
            return replace(turn, next_seq=next_seq)
        case StepStarted():
            return replace(turn, next_seq=next_seq, steps=(*turn.steps, _begin(event)))
        case StepEnded():
            usage = turn.usage + event.usage if event.usage else turn.usage
            steps = tuple(_end(step, event) for step in turn.steps)
            return replace(turn, next_seq=next_seq, steps=steps, usage=usage)
        case TurnAwaiting():
            message = _json(event.output_message)
            return replace(turn, next_seq=next_seq, status="awaiting_input", output_message=message)
        case TurnEnded():
            return replace(
                turn,
                next_seq=next_seq,
                status=event.status,
                output_message=_json(event.output_message),
                completed_at=event.at,
                error=event.error,
            )


def _json(message: CompletionMessage | None) -> bytes | None:
    return message.model_dump_json(exclude_none=True).encode() if message else None


def _begin(event: StepStarted) -> StepSnapshot:
    return StepSnapshot(
        key=event.step,
        number=event.number,
        round=event.round,
        type=event.step_type,
        name=event.name,
        status=event.status,
        server_side=event.server_side,
        started_at=event.at,
        detail=event.detail.model_dump_json(exclude_none=True).encode() if event.detail else None,
    )


def _end(step: StepSnapshot, event: StepEnded) -> StepSnapshot:
    if step.key != event.step:
        return step
    return replace(
        step,
        status=event.status,
        completed_at=event.at,
        detail=event.detail.model_dump_json(exclude_none=True).encode(),
        error=event.error,
        usage=event.usage or step.usage,
        ttft_us=event.ttft_us,
    )
