"""Turns external steps into drafts of stored steps, and plans how these are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.record.store import costs as prices
from agents.record.store import write_steps
from agents.record.store.step_rows import UNKNOWN_COST, Cost, StepDraft, StepOutcome, step_row
from agents.record.store.totals import TurnTotals
from agents.record.store.write_steps import StepPlan, StoredStep
from agents.telemetry.reading.prepared_turns import OPEN, PreparedStep, PreparedTurn, last_positions
from agents.telemetry.store.external.owners import external_id

# ------------------------------------------------------------------------------------------ planning


@dataclass(frozen=True, slots=True)
class PlannedSteps:
    """The steps of a turn to be written, or some of them, and the sums over these."""

    plan: StepPlan
    totals: TurnTotals


@dataclass(frozen=True, slots=True)
class StepKeys:
    """The key of a turn, the keys of its steps by the sender's ids, and those of its other agents by their names."""

    turn: int
    steps: Mapping[str, int]
    agents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NumberedSteps:
    """Some of a turn's steps, with their numbers."""

    steps: Sequence[PreparedStep]
    numbers: Sequence[int]


def plan_steps(turn: int, record: PreparedTurn, agents: Mapping[str, int], *, is_new: bool) -> PlannedSteps:
    """Plan how to write the steps of a turn. ``agents`` are the keys of its other agents. Steps that are stored keep
    their keys. Reads only."""
    stored = {} if is_new else write_steps.stored_steps(turn)
    stored_keys = {step.foreign_id: key for key, step in stored.items()}
    keys = {
        step.id: stored_keys.get(external_id(step.id)) or ids.new_key(_start(step, record)) for step in record.steps
    }
    positions = sorted(last_positions(step.id for step in record.steps).values())
    steps = NumberedSteps([record.steps[n] for n in positions], positions)
    return _plan(StepKeys(turn, keys, agents), record, steps, stored)


def plan_slice(keys: StepKeys, record: PreparedTurn, steps: NumberedSteps) -> PlannedSteps:
    """Plan how to write some steps of a turn; ``keys`` are those of all its steps. Reads only."""
    return _plan(keys, record, steps, write_steps.stored_among([keys.steps[step.id] for step in steps.steps]))


def _plan(keys: StepKeys, record: PreparedTurn, steps: NumberedSteps, stored: Mapping[int, StoredStep]) -> PlannedSteps:
    drafts = [_draft(keys, record, step, number) for step, number in zip(steps.steps, steps.numbers, strict=True)]
    rows = {draft.key: step_row(draft) for draft in drafts}
    contents = {draft.key: step.content for draft, step in zip(drafts, steps.steps, strict=True)}
    return PlannedSteps(StepPlan(stored, rows, contents), TurnTotals.of(drafts, record.started_us))


def _draft(keys: StepKeys, record: PreparedTurn, step: PreparedStep, number: int) -> StepDraft:
    started = _start(step, record)
    return StepDraft(
        key=keys.steps[step.id],
        turn=keys.turn,
        number=number,
        type=step.type,
        name=step.name,
        model=step.model,
        started_us=started,
        status=step.status,
        outcome=None if step.status in OPEN else _outcome(step, record, started),
        parent=keys.steps.get(step.parent),
        foreign_id=external_id(step.id),
        agent=keys.agents.get(step.agent),
    )


def _outcome(step: PreparedStep, record: PreparedTurn, started: int) -> StepOutcome:
    ended = started if step.ended_us is None else max(step.ended_us, started)
    spent = (step.usage, step.error, _cost(step, record), step.waited_us)
    return StepOutcome(step.status, started, ended, step.nature, step.ttft_us, *spent)


def _start(step: PreparedStep, record: PreparedTurn) -> int:
    return step.started_us or record.started_us


def _cost(step: PreparedStep, record: PreparedTurn) -> Cost:
    """The cost that the sender reports, else the cost by our prices."""
    if step.usage is None:
        return UNKNOWN_COST
    if step.cost_nano is not None:
        return step.cost_nano, None
    return prices.cost(step.model, step.usage, step.ended_us or record.started_us, alias=step.name)
