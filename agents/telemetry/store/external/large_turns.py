"""A turn of very many steps, stored some of them at a time: nobody else's write waits for more than one slice.

Such a turn fills up before everybody's eyes, as one does that is told of piece by piece; its sums, its words and its
end come last. Who breaks off in the middle leaves the trace due, and it is done again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from agents.base import ids
from agents.base.store.sql import Select
from agents.base.store.writer import writer
from agents.record.models.choices import Source
from agents.record.models.turns import Turn
from agents.record.schemas.content import text_of
from agents.record.store import search
from agents.telemetry.reading.records import ForeignStep, ForeignTurn
from agents.telemetry.reading.trace_worker import SLICE, Head
from agents.telemetry.store.external import step_rows, write_turns
from agents.telemetry.store.external import write_steps as foreign_steps
from agents.telemetry.store.external.owners import Owner, foreign_id
from agents.telemetry.store.external.turn_rows import Sums
from agents.telemetry.store.external.write_steps import Numbered
from agents.telemetry.store.external.write_turns import Prepared

REST = 0.5
"""How long others have the machine after each slice, as a share of what that took."""
_THERE = Select(Turn, "id", "id = %s AND EXISTS (SELECT 1 FROM agents_trace WHERE agents_trace.id = %s)", locks=True)


class Gone(Exception):
    """The turn, or what it is made of, was deleted meanwhile."""


def write(owner: Owner, trace: int, head: Head, source: Source, steps: Iterable[Sequence[ForeignStep]]) -> Prepared:
    """Store the steps of a turn of a trace, which come some at a time; returns the turn, which is to be written
    then. Raises Gone."""
    turn = _begun(owner, head.turn, source)
    sliced = _Sliced.of(trace, turn, head)
    for some in steps:
        began = time.monotonic()
        sliced.write(some)
        time.sleep((time.monotonic() - began) * REST)  # on a thread of its own: the writer is for others meanwhile
    sliced.drop_others()
    return write_turns.prepared_beside(head.turn, source, sliced.sums, sliced.heard)


def _begun(owner: Owner, record: ForeignTurn, source: Source) -> int:
    """The key of the turn; one that was not there is now, and goes on."""
    key = write_turns.key_of(owner, foreign_id(record.id))
    if key is not None:
        return key
    open_ = replace(record, status="in_progress", ended_us=None, output=None, error=None)
    begun = write_turns.prepared(open_, source)
    [key] = writer.write(lambda: write_turns.write(owner, [begun]))
    return key


@dataclass(slots=True)
class _Sliced:
    """``keys`` are those of the turn's steps by the sender's ids, ``last`` the places of those that count. ``sums``
    and ``heard`` are of what is written so far."""

    trace: int
    turn: int
    record: ForeignTurn
    keys: dict[str, int]
    last: dict[str, int]
    sums: Sums
    place: int = 0
    heard: list[search.StepTokens] = field(default_factory=list)
    room: int = search.LIMIT
    answered: str = ""

    @classmethod
    def of(cls, trace: int, turn: int, head: Head) -> _Sliced:
        record, stored = head.turn, foreign_steps.stored_keys(turn)
        if any(number < 0 for _, _, number in stored):
            writer.write(lambda: foreign_steps.leave_room(turn))
        known = {name: key for name, key, _ in stored}
        keys = {
            step: known.get(foreign_id(step)) or ids.new_key(began or record.started_us) for step, began in head.steps
        }
        last = foreign_steps.places(step for step, _ in head.steps)
        answered = search.index_tokens(text_of(record.output.content) if record.output else "")
        return cls(trace, turn, record, keys, last, Sums.of(record, (), None), answered=answered)

    def write(self, steps: Sequence[ForeignStep]) -> None:
        counted = [(number, step) for number, step in enumerate(steps, self.place) if self.last[step.id] == number]
        said = [step_rows.said(step) for _, step in counted]
        some = Numbered([step for _, step in counted], said, [number for number, _ in counted])
        cost = writer.write(partial(self._store, some))
        self.sums += Sums.of(self.record, steps, cost)
        self.place += len(steps)
        self._hear([one.words for one in said if one.detail is not None])

    def _store(self, some: Numbered) -> int | None:
        """What these cost."""
        if _THERE.first(self.turn, self.trace) is None:
            raise Gone
        planned = foreign_steps.plan_some(self.turn, self.record, some, self.keys)
        foreign_steps.write_some(self.turn, planned)
        return planned.cost_nano

    def _hear(self, words: Iterable[search.StepTokens]) -> None:
        """Keep the words by which the turn is found: as many as
        `agents.record.store.search.joined` takes, and one more."""
        for one in words:
            if self.room < 0:
                return
            self.heard.append(one)
            self.room -= sum(len(piece) for piece in one if piece != self.answered)

    def drop_others(self) -> None:
        """Steps that are no longer told of."""
        told = set(self.keys.values())
        gone = [key for _, key, _ in foreign_steps.stored_keys(self.turn) if key not in told]
        for start in range(0, len(gone), SLICE):
            writer.write(partial(foreign_steps.drop, gone[start : start + SLICE]))
