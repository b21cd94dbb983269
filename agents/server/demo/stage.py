"""Plays one scene: the real loop, a scripted model, and a clock that only waiting moves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from agents.base import ids
from agents.loop.inference.base import Chunk, InferenceRequest, Model
from agents.loop.inference.scripted import ScriptedEndpoint
from agents.loop.loop import Loop
from agents.loop.run import PendingCall, Resume, Run
from agents.record.schemas.content import ToolResponse, Usage
from agents.record.schemas.events import Delta, Entry, StepEnded, StepStarted, TurnAwaiting
from agents.server.demo.scenes import Scene


@dataclass
class Clock:
    """A clock that stands still until somebody sleeps. Microseconds since 1970."""

    now_us: int

    def __call__(self) -> int:
        return self.now_us

    async def sleep(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)

    def new_key(self) -> int:
        return ids.new_key(self.now_us)


@dataclass
class Prompted:
    """The scripted model with a prompter: whatever it is asked, it plays this script."""

    scripted: ScriptedEndpoint
    script: str
    name: str = "scripted"

    def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        messages = list(request.messages)
        place = max(place for place, raw in enumerate(messages) if msgspec.json.decode(raw)["role"] == "user")
        cue = {"role": "user", "content": f"!script\n{self.script}"}
        messages[place] = msgspec.json.encode(cue)
        return self.scripted.stream(replace(request, messages=messages))

    async def models(self) -> list[Model]:
        return await self.scripted.models()

    async def close(self) -> None:
        """Nothing is held open."""


@dataclass
class Take:
    """What was played of a leg."""

    events: list[object] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    waits: bool = False


async def play(loop: Loop, scene: Scene, *, resumed: bool = False) -> Take:
    """Everything of a leg after its first event."""
    take, count = Take(), 0
    events = loop.events()
    async for entry in events:
        _note(take, entry)
        count += 1
        if scene.stop and not resumed and count >= scene.stop[1]:
            take.events += loop.close(scene.stop[0], reason=_REASONS[scene.stop[0]])
            break
    return take


_REASONS = {"cancelled": "cancelled by local", "interrupted": "the server stopped"}


def _note(take: Take, entry: Entry) -> None:
    if isinstance(entry, Delta):
        take.deltas.append(entry)
    else:
        take.events.append(entry)
        take.waits = isinstance(entry, TurnAwaiting)


def resumed_run(run: Run, opening_take: Take, scene: Scene) -> Run:
    """The run of the next leg: the client's answers to what the last one waits for."""
    steps = [event for event in opening_take.events if isinstance(event, StepStarted)]
    waiting = [event for event in steps if event.status == "awaiting_input" and event.detail]
    pending = [PendingCall(event.step, event.detail.tool_calls[0], event.at) for event in waiting if event.detail]
    responses = [
        ToolResponse(call_id=one.call.call_id, tool_name=one.call.tool_name, content=answer)
        for one, answer in zip(pending, scene.answers, strict=True)
    ]
    last = opening_take.events[-1]
    assert isinstance(last, TurnAwaiting)  # the caller saw it wait
    return replace(
        run,
        resume=Resume(
            response_number=2,
            responses=responses,
            pending=pending,
            next_seq=last.seq + 1,
            next_step=max(event.number for event in steps) + 1,
            round=max(event.round for event in steps) + 1,
            iterations=last.iterations,
            usage=_usage(opening_take.events),
        ),
    )


def _usage(events: Sequence[object]) -> Usage:
    usages = [event.usage for event in events if isinstance(event, StepEnded) and event.usage]
    return sum(usages, Usage())
