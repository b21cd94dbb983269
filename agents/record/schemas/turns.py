"""A whole turn as a value, and the fold that makes it from events.

The store reads the same value from rows; that both are equal is the promise "rows are the truth".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter

from agents.record.schemas.content import CompletionMessage, TurnMessage, Usage
from agents.record.schemas.events import (
    ErrorInfo,
    Event,
    StepEnded,
    StepStarted,
    StepStatus,
    StepType,
    TurnAwaiting,
    TurnEnded,
    TurnResumed,
    TurnStarted,
    TurnStatus,
)

MESSAGES = TypeAdapter(list[TurnMessage])
"""Reads and writes the messages a turn was started with."""


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """A text of a detail of which only the beginning is there: its place as a JSON pointer, its bytes as a
    whole, and the number under which the store has it."""

    pointer: str
    size: int
    part: int


@dataclass(frozen=True, slots=True)
class StepSnapshot:
    """``detail`` is the event's detail as JSON without nulls; ``None`` while nothing is known.
    Times are microseconds since 1970. ``cuts`` are the texts that ``detail`` only begins, where it was read
    for showing; ``parent`` is the step this one was done in. ``foreign`` is what a step of an agent that runs
    elsewhere is called there: the id of its span, where it was read for showing."""

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


@dataclass(frozen=True, slots=True)
class TurnSnapshot:
    """``steps`` are in order. ``input_messages`` (an array) and ``output_message`` (None while there
    is no answer) are JSON as encoded, nulls left out: whoever only passes them on need not parse."""

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


LoadDetail = Callable[[StepSnapshot], StepSnapshot]
"""Gives a step what it lacked."""


def unchanged(step: StepSnapshot) -> StepSnapshot:
    """For steps that lack nothing."""
    return step


@dataclass(frozen=True, slots=True)
class ItemSnapshot:
    """An item of a session: its chat message(s) as JSON, the form it came in, and what it is made of:
    its step, and of a model's message the steps of the client's calls it asked for."""

    key: int
    body: bytes
    wire: bytes = b""
    step: StepSnapshot | None = None
    calls: tuple[StepSnapshot, ...] = ()


def fold(key: int, session: int, events: Iterable[Event]) -> TurnSnapshot:
    """The turn after these events, all of them from number 0. Raises ValueError when the first
    is not the turn's start."""
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
    """The turn after one more event."""
    turn = replace(turn, next_seq=event.seq + 1)
    match event:
        case TurnStarted():
            raise ValueError("a turn begins once")
        case TurnResumed():
            return replace(turn, status="in_progress", completed_at=None)
        case StepStarted():
            return replace(turn, steps=(*turn.steps, _begin(event)))
        case StepEnded():
            usage = turn.usage + event.usage if event.usage else turn.usage
            return replace(turn, steps=tuple(_end(step, event) for step in turn.steps), usage=usage)
        case TurnAwaiting():
            return replace(turn, status="awaiting_input", output_message=_json(event.output_message))
        case TurnEnded():
            return replace(
                turn,
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
