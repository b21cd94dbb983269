"""Who speaks in a step of a turn: its agent, or the one that the turn was handed over to before."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.logs.schemas.rows import TurnRow
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import hand_overs


@dataclass(frozen=True, slots=True)
class Speakers:
    """The names of the agents of a turn: of the ``first``, and of those that followed, each with the number of the step
    that handed over."""

    first: str
    following: list[tuple[int, str]]

    def of(self, step: StepSnapshot) -> str:
        names = [name for number, name in self.following if number < step.number]
        return (names[-1] if names else "") or self.first


def of_turn(row: TurnRow) -> Speakers:
    """The speakers of a turn. One that has called no tool was not handed over. Blocking."""
    return Speakers(row.agent_name, hand_overs.agent_names(row.id) if row.counts.tools else [])


def repeating(steps: Sequence[StepSnapshot], name_of: Callable[[StepSnapshot], str]) -> set[int]:
    """Keys of the inferences in which the same one speaks as in the inference before."""
    spoken = [step for step in steps if step.type == "inference"]
    return {step.key for before, step in itertools.pairwise(spoken) if name_of(before) == name_of(step)}
