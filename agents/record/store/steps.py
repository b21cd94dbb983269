"""Turns step events into drafts of steps, and writes these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.record.schemas.events import (
    RULE,
    Event,
    InferenceDetail,
    StepDecided,
    StepEnded,
    StepStarted,
    ToolDetail,
)
from agents.record.schemas.step_content import nature_of, step_content
from agents.record.store import costs as prices
from agents.record.store import write_steps
from agents.record.store.step_rows import UNKNOWN_COST, StepDraft, StepOutcome
from agents.record.store.totals import TurnTotals


def fold(turn: int, turn_started_us: int, events: Sequence[Event]) -> TurnTotals:
    """Write the steps that these events begin and end; returns what they add to the turn's sums. A step that begins
    and ends in the same batch is written once."""
    started = {event.step: event for event in events if isinstance(event, StepStarted)}
    ended = [event for event in events if isinstance(event, StepEnded)]
    outcomes = {event.step: _outcome(event) for event in ended}
    contents = {
        key: step_content(event.detail, None) for key, event in started.items() if event.detail and key not in outcomes
    }
    contents |= {event.step: step_content(event.detail, event.error) for event in ended}
    drafts = [_draft(turn, event, outcomes.get(key)) for key, event in started.items()]
    write_steps.write(drafts, {key: end for key, end in outcomes.items() if key not in started}, contents)
    write_steps.sign(_answerers(events))
    return _totals(started.values(), outcomes.values(), turn_started_us)


def _totals(started: Iterable[StepStarted], outcomes: Iterable[StepOutcome], turn_started_us: int) -> TurnTotals:
    totals = TurnTotals()
    for event in started:
        totals.count(event.step_type)
    for outcome in outcomes:
        totals.count_outcome(outcome, turn_started_us)
    return totals


def _outcome(event: StepEnded) -> StepOutcome:
    usage = event.usage
    # computed once: a step and the sums above it must agree
    cost = UNKNOWN_COST if usage is None else prices.cost(_model(event), usage, event.at, alias=event.name)
    return StepOutcome(
        event.status,
        event.started_at,
        event.at,
        nature_of(event.detail),
        event.ttft_us,
        usage,
        event.error,
        cost,
        waited_us=event.waited_us,
    )


def _answerers(events: Sequence[Event]) -> dict[int, str]:
    """Return who answered calls, or decided about them, by the keys of their steps."""
    names: dict[int, str] = {}
    for event in events:
        match event:
            case StepEnded(detail=ToolDetail(answered_by=str(name))):
                names[event.step] = name
            case StepDecided(by=by) if by != RULE:
                names[event.step] = by
    return names


def _model(event: StepEnded) -> str:
    return event.detail.model if isinstance(event.detail, InferenceDetail) and event.detail.model else event.name


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
        agent=event.agent,
    )
