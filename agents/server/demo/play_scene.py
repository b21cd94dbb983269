"""Plays one scene with the real loop, a scripted model and a clock that only waiting moves."""

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
from agents.record.schemas.events import Delta, Entry, Event, StepEnded, StepStarted, TurnAwaiting
from agents.server.demo.scenes import Scene


@dataclass
class SceneClock:
    """A clock that only ``sleep`` moves, in microseconds since 1970."""

    now_us: int

    def __call__(self) -> int:
        return self.now_us

    async def sleep(self, seconds: float) -> None:
        self.now_us += round(seconds * 1_000_000)

    def new_key(self) -> int:
        return ids.new_key(self.now_us)


@dataclass
class ScenePrompter:
    """A model endpoint that plays one script, whatever the request says."""

    scripted: ScriptedEndpoint
    script: str
    name: str = "scripted"

    def stream(self, request: InferenceRequest) -> AsyncIterator[Chunk]:
        messages = list(request.messages)
        position = max(index for index, raw in enumerate(messages) if msgspec.json.decode(raw)["role"] == "user")
        cue = {"role": "user", "content": f"!script\n{self.script}"}
        messages[position] = msgspec.json.encode(cue)
        return self.scripted.stream(replace(request, messages=messages))

    async def models(self) -> list[Model]:
        return await self.scripted.models()

    async def close(self) -> None:
        """Nothing is held open."""


@dataclass
class SceneRecording:
    """The events and deltas of one played response. ``waits`` is true when it ended waiting for its client."""

    events: list[Event] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    waits: bool = False


async def play(loop: Loop, scene: Scene, *, resumed: bool = False) -> SceneRecording:
    """Play a response; return everything of it after its first event."""
    recording, count = SceneRecording(), 0
    events = loop.events()
    async for entry in events:
        _note(recording, entry)
        count += 1
        if scene.stop and not resumed and count >= scene.stop[1]:
            recording.events += loop.close(scene.stop[0], reason=_REASONS[scene.stop[0]])
            break
    return recording


_REASONS = {"cancelled": "cancelled by local", "interrupted": "the server stopped"}


def _note(recording: SceneRecording, entry: Entry) -> None:
    if isinstance(entry, Delta):
        recording.deltas.append(entry)
    else:
        recording.events.append(entry)
        recording.waits = isinstance(entry, TurnAwaiting)


def resumed_run(run: Run, recording: SceneRecording, scene: Scene) -> Run:
    """Return the run of the next response: the client answers the calls that the last one waits for."""
    steps = [event for event in recording.events if isinstance(event, StepStarted)]
    awaiting = [event for event in steps if event.status == "awaiting_input" and event.detail]
    pending = [PendingCall(event.step, event.detail.tool_calls[0], event.at) for event in awaiting if event.detail]
    responses = [
        ToolResponse(call_id=pending_call.call.call_id, tool_name=pending_call.call.tool_name, content=answer)
        for pending_call, answer in zip(pending, scene.answers, strict=True)
    ]
    last = recording.events[-1]
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
            usage=_usage(recording.events),
        ),
    )


def _usage(events: Sequence[object]) -> Usage:
    usages = [event.usage for event in events if isinstance(event, StepEnded) and event.usage]
    return sum(usages, Usage())
