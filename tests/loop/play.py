"""Running the loop in tests: a scripted model, a counting clock, keys in sequence."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from agents.loop.inference.scripted import ScriptedEndpoint
from agents.loop.loop import Loop
from agents.loop.run import Run
from agents.record.schemas.content import ToolDef, ToolParameter, UserMessage
from agents.record.schemas.events import Delta, Entry
from agents.record.schemas.items import items_of

TURN, SESSION = 1 << 40, 1 << 39
START_US = 1_795_000_000_000_000

LOOKUP = ToolDef(
    name="lookup",
    description="Look something up",
    parameters=[ToolParameter(name="query", parameter_type="string", description="what")],
)


async def _no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


def make_run(script: str, **more: Any) -> Run:
    """A run whose model plays ``script``; its clock gains a millisecond at each look."""
    ticks, keys = itertools.count(START_US, 1000), itertools.count((1 << 40) + 1)
    settings: dict[str, Any] = {
        "turn": TURN,
        "session": SESSION,
        "actor": "tester",
        "model": "scripted/fast",
        "inference_model": "fast",
        "inference": ScriptedEndpoint(sleep=_no_wait),
        "instructions": "",
        "input_messages": [UserMessage(content=f"!script\n{script}")],
        "clock": lambda: next(ticks),
        "new_key": lambda: next(keys),
    }
    return Run(**{**settings, **more})


def play(run: Run) -> list[Entry]:
    """Everything the loop says of a run, its first event included."""

    async def collect() -> list[Entry]:
        loop = Loop(run)
        return [*loop.open(), *[entry async for entry in loop.events()]]

    return asyncio.run(collect())


def events(entries: Sequence[Entry]) -> list[Any]:
    return [entry for entry in entries if not isinstance(entry, Delta)]


def deltas(entries: Sequence[Entry]) -> list[Delta]:
    return [entry for entry in entries if isinstance(entry, Delta)]


def kinds(entries: Sequence[Entry]) -> list[str]:
    """The types of the events, steps with their own: ``step.started inference``."""
    return [f"{event.type} {getattr(event, 'step_type', '')}".strip() for event in events(entries)]


def items(entries: Sequence[Entry]) -> list[bytes]:
    """What these entries add to their session's history."""
    return [item for event in events(entries) for item in items_of(event)]
