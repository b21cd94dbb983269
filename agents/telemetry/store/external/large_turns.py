"""Stores a turn of very many steps in slices, so that no other write waits for more than one slice.

Readers see such a turn grow, like one that is reported in several requests; its sums, its search text and its end are
written last. Where this breaks off in the middle the trace stays due, and is projected again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from agents.base import ids
from agents.base.store.sql import Select
from agents.base.store.writer import writer
from agents.record.models.turns import Turn
from agents.record.schemas.search_documents import MAX_INDEXED, StepTokens
from agents.record.store import write_steps
from agents.record.store.totals import TurnTotals
from agents.telemetry.reading.prepared_turns import PreparedStep, PreparedTurn, last_positions, with_step_tokens
from agents.telemetry.reading.trace_worker import STEPS_PER_SLICE
from agents.telemetry.reading.worker_frames import TurnHead
from agents.telemetry.store.external import step_drafts, write_turns
from agents.telemetry.store.external.find_or_create import AgentKeys
from agents.telemetry.store.external.owners import Owner, external_id
from agents.telemetry.store.external.step_drafts import NumberedSteps, StepKeys

PAUSE_SHARE = 0.5
"""The pause after each slice, as a share of what the slice took: others have the machine then."""
_EXISTS = Select(Turn, "id", "id = %s AND EXISTS (SELECT 1 FROM agents_trace WHERE agents_trace.id = %s)", locks=True)


class TurnDeleted(Exception):
    """The turn, or its trace, was deleted meanwhile."""


def write(
    owner: Owner, trace: int, head: TurnHead, steps: Iterable[Sequence[PreparedStep]]
) -> tuple[PreparedTurn, TurnTotals]:
    """Store the steps of a turn, which come in slices; returns the turn, which the caller writes then, with the sums
    over its steps. Raises TurnDeleted."""
    turn = _turn_key(owner, head)
    sliced = _SlicedTurn.of(_Place(owner, trace, turn), head)
    for slice_ in steps:
        started = time.monotonic()
        sliced.write(slice_)
        # on a thread of its own: the writer is free for others meanwhile
        time.sleep((time.monotonic() - started) * PAUSE_SHARE)
    sliced.delete_stale_steps()
    tokens = with_step_tokens(head.turn.tokens, sliced.step_tokens)
    return replace(head.turn, tokens=tokens), sliced.totals


def _turn_key(owner: Owner, head: TurnHead) -> int:
    """The key of the turn; one that is not stored is inserted as a turn in progress."""
    key = write_turns.key_of(owner, external_id(head.turn.id))
    if key is not None:
        return key
    [key] = writer.write(lambda: write_turns.write(owner, [head.beginning]))
    return key


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the steps of a turn belong: to whom, in which trace and turn."""

    owner: Owner
    trace: int
    turn: int


@dataclass(slots=True)
class _SlicedTurn:
    """A turn while its steps are written. ``keys`` are the keys of its steps by the sender's ids, ``last_positions``
    the positions of those that count. ``totals`` and ``step_tokens`` are those of the steps written so far."""

    place: _Place
    record: PreparedTurn
    keys: dict[str, int]
    last_positions: dict[str, int]
    totals: TurnTotals
    position: int = 0
    step_tokens: list[StepTokens] = field(default_factory=list)
    remaining_tokens: int = MAX_INDEXED
    answer: str = ""

    @classmethod
    def of(cls, place: _Place, head: TurnHead) -> _SlicedTurn:
        record, turn = head.turn, place.turn
        stored = write_steps.stored_keys(turn)
        if any(number < 0 for _, _, number in stored):
            writer.write(lambda: write_steps.make_room(turn))
        stored_keys = {name: key for name, key, _ in stored}
        keys = {
            step: stored_keys.get(external_id(step)) or ids.new_key(started or record.started_us)
            for step, started in head.steps
        }
        positions = last_positions(step for step, _ in head.steps)
        return cls(place, record, keys, positions, TurnTotals(), answer=record.tokens.output)

    def write(self, steps: Sequence[PreparedStep]) -> None:
        counted = [
            (number, step) for number, step in enumerate(steps, self.position) if self.last_positions[step.id] == number
        ]
        numbered = NumberedSteps([step for _, step in counted], [number for number, _ in counted])
        self.totals.add(writer.write(partial(self._store, numbered)))
        self.position += len(steps)
        self._collect_tokens([step.content.tokens for step in numbered.steps if step.content.detail is not None])

    def _store(self, numbered: NumberedSteps) -> TurnTotals:
        """Write these steps; returns their sums. Raises TurnDeleted."""
        place = self.place
        if _EXISTS.first(place.turn, place.trace) is None:
            raise TurnDeleted
        # looked up in each slice: what an earlier one created may be deleted by now
        agents = AgentKeys(place.owner).of_others(numbered.steps, self.record)
        planned = step_drafts.plan_slice(StepKeys(place.turn, self.keys, agents), self.record, numbered)
        write_steps.replace_slice(place.turn, planned.plan)
        return planned.totals

    def _collect_tokens(self, texts: Iterable[StepTokens]) -> None:
        """Collect the search text of the turn: as much as
        `agents.record.schemas.search_documents.steps_document` takes, and one more."""
        for text in texts:
            if self.remaining_tokens < 0:
                return
            self.step_tokens.append(text)
            self.remaining_tokens -= sum(len(part) for part in text if part != self.answer)

    def delete_stale_steps(self) -> None:
        """Delete the stored steps that are no longer reported."""
        reported = set(self.keys.values())
        stale = [key for _, key, _ in write_steps.stored_keys(self.place.turn) if key not in reported]
        for start in range(0, len(stale), STEPS_PER_SLICE):
            writer.write(partial(write_steps.delete, stale[start : start + STEPS_PER_SLICE]))
