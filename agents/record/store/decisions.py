"""Decisions of people on calls whose process was lost before their result was stored: made, not made, or with this
result. Until then their turn waits, and nobody runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import Conflict, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.writer import writer
from agents.record.models.choices import StepStatus, StepType
from agents.record.models.turns import Step, Turn
from agents.record.schemas.content import Content, ToolResponse
from agents.record.schemas.events import MADE, CallOutcome, StepDecided
from agents.record.store import recorder, turns
from agents.record.store.recorder import TurnRef


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of the call of a step. ``content`` is its result, with the outcome ``result`` and only then."""

    step: int
    outcome: CallOutcome
    content: Content | None = None

    def result(self) -> ToolResponse | None:
        """Return what the model is told; None where the call is to be made."""
        content = MADE if self.outcome == "done" else self.content
        return None if content is None else ToolResponse(call_id="", tool_name="", content=content)


def decide(actor: Actor, turn: int, decided: Sequence[Decision]) -> None:
    """Decide what became of calls of a turn, which then goes on. Raises NotFound, Conflict where one of the calls
    waits for no decision."""
    turns.target(actor, turn, action="run")
    writer.write(lambda: _decide(actor, turn, decided))


def _decide(actor: Actor, turn: int, decided: Sequence[Decision]) -> None:
    row = Turn.objects.unscoped("its actor was let in").select_for_update().filter(pk=turn).first()
    if row is None:
        raise turns.not_found(turn)
    for decision in decided:
        _check(turn, decision.step, is_waiting=row.doubt_at is not None)
    epoch, now_us = row.lease_epoch + 1, ids.now_us()
    Turn.objects.unscoped("its actor was let in").filter(pk=turn).update(
        lease_epoch=epoch, doubt_at=None, expires_at=None
    )
    events = [
        StepDecided(
            seq=row.next_seq + index,
            at=now_us + index,
            step=decision.step,
            outcome=decision.outcome,
            by=actor.name,
            result=decision.result(),
        )
        for index, decision in enumerate(decided)
    ]
    recorder.record(TurnRef(turn, row.session_id, epoch=epoch), events)
    changes.note(ChangeKind.TURN, turn)


def _check(turn: int, step: int, *, is_waiting: bool) -> None:
    """Raise NotFound or Conflict unless the call of this step waits for a decision."""
    steps = Step.objects.unscoped("its turn is visible").filter(pk=step, turn_id=turn)
    state = steps.values_list("type", "status").first()
    if state is None:
        raise NotFound(f"Step '{ids.public(ids.Kind.STEP, step)}' of this turn not found.")
    if not is_waiting or state != (StepType.TOOL_EXECUTION, StepStatus.IN_PROGRESS):
        raise Conflict("This call waits for no decision.", code="nothing_to_decide")
