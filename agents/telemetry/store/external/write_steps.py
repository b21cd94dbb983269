"""Writes the steps of external turns. Of a turn that has grown only the steps that differ from the stored ones are
written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, Select, SelectAmong, execute, execute_many
from agents.record.models.tags import StepTag
from agents.record.models.turns import Step, StepDetail
from agents.record.store import costs as prices
from agents.record.store import deletion_hooks, large_values, search
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.store.external import step_rows
from agents.telemetry.store.external.owners import external_id
from agents.telemetry.store.external.step_rows import Cost, NewStepRow, StepContent, StepKeys

_PUT = Insert(Step, step_rows.FIELDS, replace="id")
_PUT_DETAIL = Insert(StepDetail, "step_id encoding body error", replace="step_id")
_ROWS = Select(Step, step_rows.FIELDS, "turn_id = %s")
_DETAILS = Select(
    StepDetail, "step_id encoding body error", "step_id IN (SELECT id FROM agents_step WHERE turn_id = %s)"
)
_MOVE_ASIDE = "UPDATE agents_step SET number = -1 - number WHERE id = %s AND number >= 0"
"""Negative numbers are free: no step that is written has one."""
_MOVE_FURTHER_ASIDE = "UPDATE agents_step SET number = number - %s WHERE turn_id = %s AND number < 0"
_ROWS_BY_KEY = SelectAmong(Step, step_rows.FIELDS, "id")
_DETAILS_BY_KEY = SelectAmong(StepDetail, "step_id encoding body error", "step_id")
_KEYS = Select(Step, "foreign_id id number", "turn_id = %s")
_KEYS_AT_NUMBERS = Select(Step, "id number", "turn_id = %s AND number BETWEEN %s AND %s")
CHUNK_SIZE = 500
ASIDE_OFFSET = 1_000_000
"""More than the number of steps of any turn."""


@dataclass(frozen=True, slots=True)
class _StoredStep:
    """A step as it is stored: its row, and its detail and error as JSON, None where it has none."""

    row: tuple[Any, ...]
    detail: tuple[bytes, str] | None


@dataclass(frozen=True, slots=True)
class StepWritePlan:
    """The steps of a turn to be written, in order. ``stored`` are the stored ones by key; ``cost_nano`` is the sum,
    None where no cost is known."""

    stored: Mapping[int, _StoredStep]
    steps: Sequence[NewStepRow]
    cost_nano: int | None


def step_tokens(record: ExternalTurn, contents: Sequence[StepContent]) -> Iterable[search.StepTokens]:
    """The search text of each step that has any, in order."""
    positions = sorted(last_positions(step.id for step in record.steps).values())
    return (contents[position].tokens for position in positions if contents[position].detail is not None)


def last_positions(steps: Iterable[str]) -> dict[str, int]:
    """The positions of steps by their ids: a turn of several traces may have two of one id, and the last one counts."""
    return {step: position for position, step in enumerate(steps)}


def plan_steps(turn: int, record: ExternalTurn, contents: Sequence[StepContent], *, is_new: bool) -> StepWritePlan:
    """Plan how to write the steps of a turn. ``contents`` are those of the record's steps. Steps that are stored keep
    their keys. Reads only."""
    stored = {} if is_new else _stored(turn)
    stored_keys = {stored_step.row[step_rows.EXTERNAL_ID_COLUMN]: key for key, stored_step in stored.items()}
    keys = {
        step.id: stored_keys.get(external_id(step.id)) or ids.new_key(_start(step, record)) for step in record.steps
    }
    step_keys = StepKeys(turn, keys)
    # a turn of several traces may have two steps of one id: the last one counts
    rows = {
        keys[step.id]: step_rows.step_row(
            step_keys, number, step, contents[number], _start(step, record), _cost(step, record)
        )
        for number, step in enumerate(record.steps)
    }
    return StepWritePlan(stored, sorted(rows.values(), key=_number), _total_cost(rows.values()))


def _total_cost(rows: Iterable[NewStepRow]) -> int | None:
    costs = [cost for step in rows if (cost := step.cost_nano) is not None]
    return sum(costs) if costs else None


def _number(step: NewStepRow) -> int:
    return step.number


@dataclass(frozen=True, slots=True)
class NumberedSteps:
    """Some of a turn's steps, with their contents and numbers."""

    steps: Sequence[ExternalStep]
    contents: Sequence[StepContent]
    numbers: Sequence[int]


def plan_slice(keys: StepKeys, record: ExternalTurn, numbered: NumberedSteps) -> StepWritePlan:
    """Plan how to write some steps of a turn; ``keys`` are those of all its steps. Reads only."""
    rows = [
        step_rows.step_row(keys, number, step, content, _start(step, record), _cost(step, record))
        for step, content, number in zip(numbered.steps, numbered.contents, numbered.numbers, strict=True)
    ]
    return StepWritePlan(_stored_by_key([step.key for step in rows]), rows, _total_cost(rows))


def stored_keys(turn: int) -> list[tuple[str, int, int]]:
    """(the sender's id, key, number) of a turn's steps."""
    return [(name, key, number) for name, key, number in _KEYS.all(turn)]


def make_room(turn: int) -> None:
    """Make room at the negative numbers, where an earlier attempt broke off and left steps that it moved aside."""
    execute(_MOVE_FURTHER_ASIDE, ASIDE_OFFSET, turn)


def write_slice(turn: int, plan: StepWritePlan) -> None:
    """Write some steps of a turn. Stored steps at their numbers are moved aside, until they are written themselves or
    deleted."""
    numbers = {step.number: step.key for step in plan.steps}
    existing = _KEYS_AT_NUMBERS.all(turn, min(numbers), max(numbers)) if numbers else []
    execute_many(_MOVE_ASIDE, ([key] for key, number in existing if numbers.get(number, key) != key))
    write([plan])


def delete(keys: Sequence[int]) -> None:
    """Delete steps that are no longer reported, within the caller's transaction."""
    _delete_details(keys)
    _delete_rows(keys)


def _stored(turn: int) -> dict[int, _StoredStep]:
    return _stored_steps(_ROWS.all(turn), _DETAILS.all(turn))


def _stored_by_key(keys: Sequence[int]) -> dict[int, _StoredStep]:
    return _stored_steps(_ROWS_BY_KEY.all(keys), _DETAILS_BY_KEY.all(keys))


def _stored_steps(rows: Iterable[Sequence[Any]], detail_rows: Iterable[Sequence[Any]]) -> dict[int, _StoredStep]:
    details = {key: (kind, body, error) for key, kind, body, error in detail_rows}
    return {
        row[0]: _StoredStep(tuple(row), _unpack(row[0], *details[row[0]]) if row[0] in details else None)
        for row in rows
    }


def _unpack(key: int, kind: int, body: bytes, error: str) -> tuple[bytes, str]:
    return large_values.unpack(key, kind, body), error


def _start(step: ExternalStep, record: ExternalTurn) -> int:
    return step.started_us or record.started_us


def _cost(step: ExternalStep, record: ExternalTurn) -> Cost:
    """The cost that the sender reports, else the cost by our prices."""
    if step.usage is None:
        return None, None
    if step.cost_nano is not None:
        return step.cost_nano, None
    return prices.cost(step.model, step.usage, step.ended_us or record.started_us, alias=step.name)


# ------------------------------------------------------------------------------------------- writing


def write(plans: Sequence[StepWritePlan]) -> None:
    """Write the planned steps. The rows of their turns must exist already: the database would else look through all
    steps for each one whose turn comes later."""
    for plan in plans:
        if plan.stored:
            _clear_conflicts(plan)
    changed_rows = _differing(plans, _row_differs)
    changed_details = [step for step in _differing(plans, _detail_differs) if step.content.detail is not None]
    _PUT.execute_many(step.row for step in changed_rows)
    _PUT_DETAIL.execute_many(
        _detail_row(step, step.content.detail) for step in changed_details if step.content.detail is not None
    )
    search.put_steps((step.key, step.content.tokens) for step in changed_details)
    for step in (*changed_rows, *changed_details):
        changes.note(ChangeKind.STEP, step.key)


def _differing(
    plans: Sequence[StepWritePlan], differs: Callable[[NewStepRow, _StoredStep | None], bool]
) -> list[NewStepRow]:
    return [step for plan in plans for step in plan.steps if differs(step, plan.stored.get(step.key))]


def _row_differs(step: NewStepRow, stored: _StoredStep | None) -> bool:
    return stored is None or stored.row != step.row


def _detail_differs(step: NewStepRow, stored: _StoredStep | None) -> bool:
    detail = None if step.content.detail is None else (step.content.detail, step.content.error)
    return detail != (stored.detail if stored else None)


def _detail_row(step: NewStepRow, detail: bytes) -> tuple[Any, ...]:
    return (step.key, *large_values.put(step.key, detail), step.content.error)


def _clear_conflicts(plan: StepWritePlan) -> None:
    """Remove or move aside the stored rows that the planned ones conflict with, within the caller's transaction."""
    stored = plan.stored
    stale = stored.keys() - {step.key for step in plan.steps}
    existing = [step for step in plan.steps if step.key in stored]
    changed_details = [
        step.key for step in existing if stored[step.key].detail and _detail_differs(step, stored[step.key])
    ]
    _delete_details([*changed_details, *sorted(stale)])
    _delete_rows(sorted(stale))
    # no two steps of a turn may have the same number, not even within the transaction
    execute_many(_MOVE_ASIDE, ([step.key] for step in existing if _row_differs(step, stored[step.key])))


def _delete_details(keys: Sequence[int]) -> None:
    search.remove([], list(keys))
    for chunk in _chunks(keys):
        large_values.drop(chunk)
        StepDetail.objects.filter(step_id__in=chunk)._raw_delete("default")


def _delete_rows(keys: Sequence[int]) -> None:
    """Delete the rows of steps. Their feedback moves to their turn."""
    for chunk in _chunks(keys):
        StepTag.objects.filter(step_id__in=chunk).delete()
        deletion_hooks.merge_steps(chunk)
        Step.objects.unscoped("projection").filter(pk__in=chunk)._raw_delete("default")
    for key in keys:
        changes.note(ChangeKind.STEP, key, deleted=True)


def _chunks(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[start : start + CHUNK_SIZE] for start in range(0, len(keys), CHUNK_SIZE))
