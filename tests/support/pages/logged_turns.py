"""Turns in the log for the tests of pages: written through the store, as a run would write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.writer import writer
from agents.record.models.agents import Session
from agents.record.schemas.agents import AgentConfig
from agents.record.schemas.content import CompletionMessage, ToolCall, Usage, UserMessage
from agents.record.schemas.events import (
    ErrorInfo,
    Event,
    FinalStatus,
    InferenceDetail,
    StepEnded,
    StepStarted,
    ToolDetail,
    TurnEnded,
    TurnStarted,
)
from agents.record.store import agents, recorder, sessions, start_turn
from agents.record.store.new_responses import NewResponse
from agents.record.store.recorder import TurnRef
from agents.record.store.start_turn import NewTurn


@dataclass(frozen=True)
class Worked:
    """A step: a tool's name, or empty for an inference."""

    tool: str = ""
    ms: int = 100
    failed: bool = False


def make_session(actor: Actor, agent: str = "support", name: str = "refund-8841") -> int:
    """A session with an agent of its own."""
    key = agents.create(actor, AgentConfig(model="llama-3.3-70b", instructions="Help.", name=agent))
    return sessions.create(actor, agent=key, name=name)


def log_turn(
    actor: Actor,
    session: int,
    asked: str,
    answered: str = "Done.",
    *,
    steps: Sequence[Worked] = (Worked(),),
    status: FinalStatus | None = "completed",
    error: str = "",
) -> str:
    """A turn that begins at the clock's now, its steps one after the other; returns its public id.
    ``status`` None leaves it in progress."""
    at = ids.now_us()
    key = ids.new_key(at)
    begun = TurnStarted(seq=0, at=at, model="llama-3.3-70b", input_messages=[UserMessage(content=asked)])
    new = NewTurn(
        key=key,
        session=session,
        agent=Session.objects.unscoped("a test's").get(pk=session).agent_id,
        revision=None,
        model="llama-3.3-70b",
        provider="demo",
        messages=begun.input_messages,
        request="",
        response=NewResponse(ids.new_key(), b""),
        queued=False,
    )
    start_turn.open_turn(actor, new, [begun], owner="test")
    events, at = _worked(steps, at)
    if status is not None:
        events.append(_end(len(events) + 1, at, status, answered, error))
    leg = TurnRef(key, session)
    writer.write(lambda: recorder.record(leg, events))
    return ids.public(ids.Kind.TURN, key)


def _worked(steps: Sequence[Worked], at: int) -> tuple[list[Event], int]:
    events: list[Event] = []
    for number, step in enumerate(steps):
        started = _start(len(events) + 1, at, number, step)
        at += step.ms * 1000
        events += [started, _finish(len(events) + 2, at, started, step)]
    return events, at


def _start(seq: int, at: int, number: int, step: Worked) -> StepStarted:
    return StepStarted(
        seq=seq,
        at=at,
        step=ids.new_key(at),
        number=number,
        round=0,
        step_type="tool_execution" if step.tool else "inference",
        name=step.tool or "llama-3.3-70b",
    )


def _finish(seq: int, at: int, started: StepStarted, step: Worked) -> StepEnded:
    call = ToolCall(call_id=f"call-{started.number}", tool_name=step.tool, arguments={})
    said = CompletionMessage(content="", stop_reason="end_of_turn")
    return StepEnded(
        seq=seq,
        at=at,
        step=started.step,
        step_type=started.step_type,
        name=started.name,
        status="failed" if step.failed else "completed",
        started_at=started.at,
        detail=ToolDetail(tool_calls=[call]) if step.tool else InferenceDetail(model_response=said),
        usage=None if step.tool else Usage(input_tokens=700, output_tokens=504),
    )


def _end(seq: int, at: int, status: FinalStatus, answered: str, error: str) -> TurnEnded:
    return TurnEnded(
        seq=seq,
        at=at,
        status=status,
        output_message=CompletionMessage(content=answered, stop_reason="end_of_turn"),
        error=ErrorInfo(type="provider_error", message=error) if error else None,
    )
