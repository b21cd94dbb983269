"""Ends turns from outside: those that waited too long for an answer or a decision, whose client sent a new message
instead of an answer, or that no process can go on with. Only here the store itself creates events; they are of the
loop's types.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

import msgspec
from django.db.models import QuerySet

from agents.base import ids
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.record.models.choices import LIVE, StepStatus, StepType, TurnStatus
from agents.record.models.turns import Step, Turn
from agents.record.schemas.content import CompletionMessage
from agents.record.schemas.events import (
    ErrorInfo,
    Event,
    FinalStatus,
    InferenceDetail,
    OtherDetail,
    StepDetail,
    StepEnded,
    ToolDetail,
    TurnEnded,
)
from agents.record.store import large_values, recorder, replay
from agents.record.store.recorder import TurnRef

OPEN = (StepStatus.IN_PROGRESS, StepStatus.AWAITING_INPUT)
WAITING, RUNNING = (TurnStatus.AWAITING_INPUT,), tuple(LIVE)


@dataclass(frozen=True, slots=True)
class TurnEnding:
    """The end of a turn that comes from outside; ``at_us`` is the time of it, None for now. ``by`` is the user or API
    key that wanted it: so ends what the calls of its client were waiting for."""

    status: FinalStatus
    reason: str
    error: ErrorInfo | None = None
    at_us: int | None = None
    by: str | None = None


def close_turn(key: int, ending: TurnEnding, *, statuses: Collection[TurnStatus], epoch: int | None = None) -> bool:
    """End a turn and its open steps, in the caller's transaction; the process that runs it, if any, loses it. The
    generated text of an open inference is kept. Returns False, and changes nothing, where the turn's status is none
    of ``statuses``, or its lease has changed since ``epoch`` was read."""
    turn = Turn.objects.unscoped("closing").select_for_update().filter(pk=key).first()
    if turn is None or turn.status not in statuses or epoch not in (None, turn.lease_epoch):
        return False
    turn.lease_epoch += 1
    Turn.objects.unscoped("closing").filter(pk=key).update(lease_epoch=turn.lease_epoch)
    closed_at = ending.at_us or ids.now_us()
    events: list[Event] = []
    message, text_kept = None, None
    steps = Step.objects.unscoped("closing").filter(turn_id=key, status__in=OPEN).order_by("number")
    for step in steps.select_related("detail"):
        detail = _detail(step)
        if isinstance(detail, ToolDetail) and step.status == StepStatus.AWAITING_INPUT:
            detail = detail.model_copy(update={"answered_by": ending.by})
        if isinstance(detail, InferenceDetail):
            message, text_kept = detail.model_response, len(str(detail.model_response.content))
        ended = _step_ended(turn.next_seq + len(events), closed_at, step, detail, ending.status)
        events.append(ended.model_copy(update={"waited_us": _waited_us(turn, step, ended)}))
    end = TurnEnded(
        seq=turn.next_seq + len(events),
        at=closed_at,
        status=ending.status,
        output_message=message,
        iterations=turn.iterations,
        error=ending.error,
        reason=ending.reason,
        text_kept=text_kept,
    )
    recorder.record(TurnRef(key, turn.session_id, epoch=turn.lease_epoch), [*events, end])
    return True


def _step_ended(seq: int, at: int, step: Step, detail: StepDetail, status: FinalStatus) -> StepEnded:
    return StepEnded(
        seq=seq,
        at=max(at, to_us(step.started_at) + 1),
        step=step.pk,
        step_type=StepType(step.type).label,
        name=step.name,
        status=status if status != "completed" else "cancelled",
        started_at=to_us(step.started_at),
        detail=detail,
    )


def _waited_us(turn: Turn, step: Step, ended: StepEnded) -> int | None:
    """Return for how long a step waited that ends: for its client, or for a decision about its call."""
    if step.status == StepStatus.AWAITING_INPUT:
        return ended.at - ended.started_at
    if turn.doubt_at is None or step.type != StepType.TOOL_EXECUTION:
        return None
    return ended.at - max(to_us(turn.doubt_at), ended.started_at)


def _detail(step: Step) -> StepDetail:
    if step.type == StepType.INFERENCE:
        text = replay.typed_text(step.turn_id, step.pk)
        message = CompletionMessage(content=text, stop_reason="out_of_tokens")
        reasoning = replay.typed_text(step.turn_id, step.pk, "reasoning")
        return InferenceDetail(model_response=message, model=step.name, reasoning=reasoning)
    stored = getattr(step, "detail", None)
    if stored is not None and step.type == StepType.TOOL_EXECUTION:
        body = msgspec.json.decode(large_values.unpack(step.pk, stored.encoding, stored.body))
        return ToolDetail.model_validate(body)
    return OtherDetail(kind=StepType(step.type).label)


def expire_waiting(now_us: int) -> int:
    """Cancel the turns that waited too long for their client, or for a decision; returns how many."""
    late = Turn.objects.unscoped("expiry").filter(expires_at__lt=to_datetime(now_us))
    unanswered = _expire(late.filter(status=TurnStatus.AWAITING_INPUT), "input_timeout", WAITING)
    return unanswered + _expire(late.filter(doubt_at__isnull=False), "decision_timeout", RUNNING)


def _expire(rows: QuerySet[Turn], reason: str, statuses: Collection[TurnStatus]) -> int:
    late = list(rows.values_list("pk", "lease_epoch")[:100])
    ending = TurnEnding("cancelled", reason)
    return sum(writer.write(partial(close_turn, key, ending, statuses=statuses, epoch=epoch)) for key, epoch in late)
