"""Writes steps: rows, details, search documents and change notes.

`write` writes what begins and ends in a turn that runs here. `replace` brings the stored steps of a turn to those of a
new report of it: only rows and details that differ from the stored ones are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base.models.changes import ChangeKind
from agents.base.models.terms import TermKind
from agents.base.store import changes, terms
from agents.base.store.sql import Insert, Select, SelectAmong, UpdateByKey, execute, execute_many
from agents.record.models.turns import Step, StepDetail, Turn
from agents.record.schemas.step_content import StepContent
from agents.record.store import large_values, references, search
from agents.record.store.step_rows import (
    COLUMNS,
    DETAIL_COLUMNS,
    OUTCOME_COLUMNS,
    StepDraft,
    StepOutcome,
    outcome_columns,
    step_row,
)

_ADD = Insert(Step, COLUMNS)
_PUT = Insert(Step, COLUMNS, replace="id")
_END = UpdateByKey(Step, OUTCOME_COLUMNS)
_SIGN = UpdateByKey(Step, "answered_by_id")
_PUT_DETAIL = Insert(StepDetail, DETAIL_COLUMNS, replace="step_id")


def write(
    drafts: Sequence[StepDraft], outcomes: Mapping[int, StepOutcome], contents: Mapping[int, StepContent]
) -> None:
    """Insert new steps, and write the outcomes of stored ones and the contents of either, by their keys."""
    _ADD.execute_many(map(step_row, drafts))
    _END.execute_many((*outcome_columns(outcome), key) for key, outcome in outcomes.items())
    _put_contents(contents.items())
    for draft in drafts:
        changes.note(ChangeKind.STEP, draft.key)
    for key in outcomes:
        changes.note(ChangeKind.STEP, key)


def sign(answerers: Mapping[int, str]) -> None:
    """Write who answered steps, or decided about them, by their keys."""
    _SIGN.execute_many((terms.intern(TermKind.ANSWERER, name), key) for key, name in answerers.items())
    for key in answerers:
        changes.note(ChangeKind.STEP, key)


def _put_contents(contents: Iterable[tuple[int, StepContent]]) -> None:
    """Insert or replace details and search documents, by the keys of the steps."""
    details = [(key, content, content.detail) for key, content in contents if content.detail is not None]
    _PUT_DETAIL.execute_many((key, *large_values.put(key, detail), content.error) for key, content, detail in details)
    search.put_steps((key, content.tokens) for key, content, _ in details)


# ----------------------------------------------------------------------------------------- replacing


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step as it is stored: its row, and its detail and error as JSON, None where it has none."""

    row: tuple[Any, ...]
    detail: tuple[bytes, str] | None

    @property
    def foreign_id(self) -> str | None:
        name: str | None = self.row[_FOREIGN_ID]
        return name


@dataclass(frozen=True, slots=True)
class StepPlan:
    """The steps of a turn, or some of them, that are to be stored: rows and contents by key, in order. ``stored`` are
    the stored ones that they replace."""

    stored: Mapping[int, StoredStep]
    rows: Mapping[int, tuple[Any, ...]]
    contents: Mapping[int, StepContent]


_NUMBER, _FOREIGN_ID = (COLUMNS.split().index(name) for name in ("number", "foreign_id"))
_ROWS = Select(Step, COLUMNS, "turn_id = %s")
_DETAILS = Select(StepDetail, DETAIL_COLUMNS, "step_id IN (SELECT id FROM agents_step WHERE turn_id = %s)")
_ROWS_BY_KEY = SelectAmong(Step, COLUMNS, "id")
_DETAILS_BY_KEY = SelectAmong(StepDetail, DETAIL_COLUMNS, "step_id")
_KEYS = Select(Step, "foreign_id id number", "turn_id = %s")
_KEYS_AT_NUMBERS = Select(Step, "id number", "turn_id = %s AND number BETWEEN %s AND %s")
_MOVE_ASIDE = "UPDATE agents_step SET number = -1 - number WHERE id = %s AND number >= 0"
"""Negative numbers are free: no step that is written has one."""
_MOVE_FURTHER_ASIDE = "UPDATE agents_step SET number = number - %s WHERE turn_id = %s AND number < 0"
CHUNK_SIZE = 500
ASIDE_OFFSET = 1_000_000
"""More than the number of steps of any turn."""


def stored_steps(turn: int) -> dict[int, StoredStep]:
    """Return the stored steps of a turn, by key."""
    return _stored_steps(_ROWS.all(turn), _DETAILS.all(turn))


def stored_among(keys: Sequence[int]) -> dict[int, StoredStep]:
    """Return those of these steps that are stored, by key."""
    return _stored_steps(_ROWS_BY_KEY.all(keys), _DETAILS_BY_KEY.all(keys))


def _stored_steps(rows: Iterable[Sequence[Any]], detail_rows: Iterable[Sequence[Any]]) -> dict[int, StoredStep]:
    details = {key: (large_values.unpack(key, kind, body), error) for key, kind, body, error in detail_rows}
    return {row[0]: StoredStep(tuple(row), details.get(row[0])) for row in rows}


def stored_keys(turn: int) -> list[tuple[str, int, int]]:
    """Return (the sender's id, key, number) of a turn's steps."""
    return [(name, key, number) for name, key, number in _KEYS.all(turn)]


def replace(plans: Sequence[StepPlan]) -> None:
    """Write the planned steps. The rows of their turns must exist already: the database would else look through all
    steps for each one whose turn comes later."""
    for plan in plans:
        if plan.stored:
            _clear_conflicts(plan)
    rows = {key: plan.rows[key] for plan in plans for key in _changed_rows(plan)}
    contents = {key: plan.contents[key] for plan in plans for key in _changed_contents(plan)}
    _PUT.execute_many(rows.values())
    _put_contents(contents.items())
    for key in (*rows, *(key for key, content in contents.items() if content.detail is not None)):
        changes.note(ChangeKind.STEP, key)


def _changed_rows(plan: StepPlan) -> list[int]:
    stored = plan.stored
    return [key for key, row in plan.rows.items() if key not in stored or stored[key].row != row]


def _changed_contents(plan: StepPlan) -> list[int]:
    return [key for key, content in plan.contents.items() if _content_differs(content, plan.stored.get(key))]


def _content_differs(content: StepContent, stored: StoredStep | None) -> bool:
    detail = None if content.detail is None else (content.detail, content.error)
    return detail != (stored.detail if stored else None)


def _clear_conflicts(plan: StepPlan) -> None:
    """Remove or move aside the stored rows that the planned ones conflict with, within the caller's transaction."""
    stored = plan.stored
    stale = sorted(stored.keys() - plan.rows.keys())
    outdated = [key for key in _changed_contents(plan) if key in stored and stored[key].detail]
    _delete_details(outdated)
    delete(stale)
    # no two steps of a turn may have the same number, not even within the transaction
    execute_many(_MOVE_ASIDE, ([key] for key in _changed_rows(plan) if key in stored))


def make_room(turn: int) -> None:
    """Make room at the negative numbers, where an earlier attempt broke off and left steps that it moved aside."""
    execute(_MOVE_FURTHER_ASIDE, ASIDE_OFFSET, turn)


def replace_slice(turn: int, plan: StepPlan) -> None:
    """Write some steps of a turn. Stored steps at their numbers are moved aside, until they are written themselves or
    deleted."""
    numbers = {row[_NUMBER]: key for key, row in plan.rows.items()}
    existing = _KEYS_AT_NUMBERS.all(turn, min(numbers), max(numbers)) if numbers else []
    execute_many(_MOVE_ASIDE, ([key] for key, number in existing if numbers.get(number, key) != key))
    replace([plan])


def delete(keys: Sequence[int]) -> None:
    """Delete steps that are no longer reported, within the caller's transaction. Their feedback moves to their turn."""
    references.plan(Step, part_of=Turn, merging=True).delete(keys)
    for key in keys:
        changes.note(ChangeKind.STEP, key, deleted=True)


def _delete_details(keys: Sequence[int]) -> None:
    search.remove([], list(keys))
    for chunk in _chunks(keys):
        large_values.drop(chunk)
        StepDetail.objects.filter(step_id__in=chunk)._raw_delete("default")


def _chunks(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[start : start + CHUNK_SIZE] for start in range(0, len(keys), CHUNK_SIZE))
