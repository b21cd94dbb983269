"""Turns whose process was lost, in the states that the product brings them to, without a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.access import Actor
from agents.base.store.processes import process_name
from agents.loop.protocols.tools import Repeat, ToolContext, ToolResult
from agents.record.schemas.content import ToolDef
from agents.record.schemas.events import Delta, Entry, Event, StepInDoubt, StepStarted, TurnTakenOver
from agents.record.store import takeover
from agents.record.store.recorder import TurnRef
from tests.support.builders import Recorded, make_turn, record

CHARGE = 'call charge {"order": 7}'


@dataclass
class Charge:
    """A tool that may not be called twice."""

    definition: ToolDef
    repeat: Repeat = "write"
    group: str = "test"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        return ToolResult(content="charged")


def charging() -> Mapping[str, Charge]:
    return {"charge": Charge(ToolDef(name="charge"))}


def up_to_first_call(entries: Sequence[Entry], calls: int = 1) -> int:
    """How many entries there are up to the beginning of this call."""
    starts = [
        index
        for index, entry in enumerate(entries)
        if isinstance(entry, StepStarted) and entry.step_type == "tool_execution"
    ]
    return starts[calls - 1] + 1


@dataclass(frozen=True)
class Doubtful:
    """A turn with calls in doubt; ``ref`` is what the process that took it over writes with."""

    made: Recorded
    ref: TurnRef
    steps: Sequence[int]

    @property
    def url(self) -> str:
        return f"/turns/{self.made.public_id}/"

    @property
    def step_ids(self) -> list[str]:
        return [ids.public(ids.Kind.STEP, step) for step in self.steps]


def taken_over(made: Recorded, *later: Event) -> tuple[TurnRef, TurnTakenOver]:
    """Have another process claim the turn; what comes after it is numbered behind its event."""
    [orphan] = [each for each in takeover.orphans(100) if each.key == made.turn]
    claimed = takeover.claim(orphan, "gone", process_name(), takes_suspects=True)
    assert claimed is not None
    assert claimed.taken_over is not None
    numbered = [
        event.model_copy(update={"seq": claimed.taken_over.seq + number, "at": claimed.taken_over.at + number})
        for number, event in enumerate(later, start=1)
    ]
    record(claimed.ref, numbered)
    return claimed.ref, claimed.taken_over


def make_doubtful(actor: Actor, script: str = f"say I charge.\n{CHARGE}\nthen\nsay Done.", **more: Any) -> Doubtful:
    """A turn whose calls of ``charge`` were cut, and wait for a decision."""
    whole = make_turn(actor, script, server_tools=charging(), **more, upto=0)
    calls = [
        entry
        for entry in whole.entries
        if not isinstance(entry, Delta) and isinstance(entry, StepStarted) and entry.step_type == "tool_execution"
    ]
    record(whole.leg, whole.entries[1 : up_to_first_call(whole.entries, len(calls))])
    steps = [call.step for call in calls]
    ref, _ = taken_over(whole, *(StepInDoubt(seq=0, at=0, step=step) for step in steps))
    takeover.doubt(ref)
    return Doubtful(whole, ref, steps)
