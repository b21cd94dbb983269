"""The stored events of a response that another process began. A run that is taken over repeats its way along them:
each event that is stored already is taken from here instead of made, and no effect is repeated for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

from agents.record.schemas.content import ToolResponse
from agents.record.schemas.events import (
    Event,
    StepDecided,
    StepEnded,
    StepInDoubt,
    StepRepeated,
    StepStarted,
    TurnTakenOver,
)

E = TypeVar("E", StepStarted, StepEnded)


_BESIDE = TurnTakenOver | StepInDoubt | StepDecided | StepRepeated
"""Events that a takeover adds: a run does not come to them by itself."""


class Diverged(Exception):
    """The run does not repeat what is stored: its agent's tools or this server's code have changed meanwhile."""


class StoredEvents:
    """Hands out the stored events of a response in order, each once; empty for a run that is not taken over."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = deque(event for event in events if not isinstance(event, _BESIDE))
        self._last = events[-1] if events else None
        self._begun = {event.step for event in events if isinstance(event, StepStarted)}
        self._ended = {event.step for event in events if isinstance(event, StepEnded)}
        self._decided: dict[int, StepDecided] = {}
        self._doubted_at: dict[int, int] = {}
        self._waited_us: dict[int, int] = {}
        for event in events:
            if isinstance(event, StepInDoubt):
                self._doubted_at[event.step] = event.at
            elif isinstance(event, StepDecided):
                if event.step in self._doubted_at:
                    waited = event.at - self._doubted_at.pop(event.step)
                    self._waited_us[event.step] = self._waited_us.get(event.step, 0) + waited
                self._decided[event.step] = event
            elif isinstance(event, StepRepeated):  # what was decided before says nothing of this call
                self._decided.pop(event.step, None)

    def __bool__(self) -> bool:
        """Whether some have not been taken."""
        return bool(self._events)

    @property
    def upto(self) -> int:
        """The number of the last stored event; -1 where none is stored."""
        return self._last.seq if self._last else -1

    def position(self, event: Event) -> tuple[int, int]:
        """Return (number of the next event, time of the last one) for a run that has just taken ``event``."""
        if self._events or self._last is None:
            return (self._events[0].seq if self._events else event.seq + 1), event.at
        return self._last.seq + 1, self._last.at

    def take(self, kind: type[E], is_next: Callable[[E], bool], wanted: str) -> E | None:
        """Take the next event, which must be of this kind; None when all have been taken. Raises Diverged."""
        if not self._events:
            return None
        event = self._events[0]
        if not isinstance(event, kind) or not is_next(event):
            raise Diverged(f"Event {event.seq} is {event.type}, where the run comes to {wanted}.")
        self._events.popleft()
        return event

    def begins_with(self, name: str) -> bool:
        """Whether the next event begins a step of this name."""
        first = self._events[0] if self._events else None
        return isinstance(first, StepStarted) and first.name == name

    def take_first(self) -> Event | None:
        """Take the next event, whatever it is."""
        return self._events.popleft() if self._events else None

    def has_ended(self, step: int) -> bool:
        """Whether the end of a step is stored."""
        return step in self._ended

    def is_cut(self, step: int) -> bool:
        """Whether a step's beginning is stored and its end is not: what it did outside is not known."""
        return step in self._begun and step not in self._ended

    def may_repeat(self, step: int) -> bool:
        """Whether a person has decided that the call of a cut step was not made."""
        decision = self._decided.get(step)
        return decision is not None and decision.outcome == "not_done"

    def waited_us(self, step: int) -> int | None:
        """Return for how long a step waited for a decision about its call, microseconds; None where it did not."""
        return self._waited_us.get(step)

    def decided_result(self, step: int) -> ToolResponse | None:
        """Return the result that a person has given for the call of a cut step."""
        decision = self._decided.get(step)
        return decision.result if decision else None
