"""Turns step events into drafts of steps, and writes these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from agents.record.schemas.events import InferenceDetail, StepEnded, StepStarted
from agents.record.store import costs as prices
from agents.record.store import write_steps
from agents.record.store.step_rows import TYPES, UNKNOWN_COST, StepDraft, StepOutcome, step_content


def outcomes(events: Iterable[StepEnded]) -> dict[int, StepOutcome]:
    """Return the outcomes of these steps, by key. Costs are computed here, once: a step and the sums above it must
    agree."""
    return {event.step: _outcome(event) for event in events}


def _outcome(event: StepEnded) -> StepOutcome:
    usage = event.usage
    cost = UNKNOWN_COST if usage is None else prices.cost(_model(event), usage, event.at, alias=event.name)
    return StepOutcome(
        event.status, event.started_at, event.at, event.detail, event.ttft_us, event.usage, event.error, cost
    )


def _model(event: StepEnded) -> str:
    return event.detail.model if isinstance(event.detail, InferenceDetail) and event.detail.model else event.name


def fold(turn: int, events: Sequence[StepStarted], ends: Mapping[int, StepOutcome]) -> int:
    """Write the steps that these events begin, and those that have ended; returns the bit mask of the types begun. A
    step that begins and ends in the same batch is written once."""
    drafts = [_draft(turn, event, ends.get(event.step)) for event in events]
    contents = {
        event.step: step_content(event.detail, None) for event in events if event.detail and event.step not in ends
    }
    contents |= {key: step_content(end.detail, end.error) for key, end in ends.items()}
    started = {event.step for event in events}
    write_steps.write(drafts, {key: end for key, end in ends.items() if key not in started}, contents)
    return reduce(or_, (1 << TYPES[event.step_type] for event in events), 0)


def _draft(turn: int, event: StepStarted, outcome: StepOutcome | None) -> StepDraft:
    return StepDraft(
        key=event.step,
        turn=turn,
        number=event.number,
        type=event.step_type,
        name=event.name,
        model=event.name,
        started_us=event.at,
        round=event.round,
        server_side=event.server_side,
        status=event.status,
        outcome=outcome,
    )
