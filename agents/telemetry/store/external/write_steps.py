"""The steps of foreign turns as rows. Of a turn that has grown only what differs from what is stored is written."""

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
from agents.telemetry.reading.records import ForeignStep, ForeignTurn
from agents.telemetry.store.external import step_rows
from agents.telemetry.store.external.owners import foreign_id
from agents.telemetry.store.external.step_rows import Cost, Said, Told

_PUT = Insert(Step, step_rows.FIELDS, replace="id")
_PUT_DETAIL = Insert(StepDetail, "step_id encoding body error", replace="step_id")
_ROWS = Select(Step, step_rows.FIELDS, "turn_id = %s")
_DETAILS = Select(
    StepDetail, "step_id encoding body error", "step_id IN (SELECT id FROM agents_step WHERE turn_id = %s)"
)
_ASIDE = "UPDATE agents_step SET number = -1 - number WHERE id = %s AND number >= 0"
_FURTHER_ASIDE = "UPDATE agents_step SET number = number - %s WHERE turn_id = %s AND number < 0"
_ROWS_AMONG = SelectAmong(Step, step_rows.FIELDS, "id")
_DETAILS_AMONG = SelectAmong(StepDetail, "step_id encoding body error", "step_id")
_KEYS = Select(Step, "foreign_id id number", "turn_id = %s")
_AT = Select(Step, "id number", "turn_id = %s AND number BETWEEN %s AND %s")
CHUNK = 500
AWAY = 1_000_000
"""More than a turn has steps."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """What there is of a step: its row, and its detail and error as JSON, None where it has none."""

    row: tuple[Any, ...]
    told: tuple[bytes, str] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written of a turn's steps, in order. ``stored`` is what there is of them, by key; ``cost_nano``
    the sum, None where nobody knows any."""

    stored: Mapping[int, _Stored]
    steps: Sequence[Told]
    cost_nano: int | None


def words(record: ForeignTurn, said: Sequence[Said]) -> Iterable[search.StepTokens]:
    """Of each step that has any, in order, those it is found by."""
    last = sorted(places(step.id for step in record.steps).values())
    return (said[place].words for place in last if said[place].detail is not None)


def places(steps: Iterable[str]) -> dict[str, int]:
    """The places of steps by their ids: a turn of several traces may have two of one id, and the last one counts."""
    return {step: place for place, step in enumerate(steps)}


def plan(turn: int, record: ForeignTurn, said: Sequence[Said], *, is_new: bool) -> Plan:
    """``said`` is what the record's steps say. Those that were told of before keep their keys. Reads only."""
    stored = {} if is_new else _stored(turn)
    known = {one.row[step_rows.FOREIGN_ID]: key for key, one in stored.items()}
    keys = {step.id: known.get(foreign_id(step.id)) or ids.new_key(_start(step, record)) for step in record.steps}
    # a turn of several traces may have two steps of one id: the last one counts
    told = {
        keys[step.id]: step_rows.told(turn, number, step, said[number], keys, _start(step, record), _cost(step, record))
        for number, step in enumerate(record.steps)
    }
    return Plan(stored, sorted(told.values(), key=_number), _sum(told.values()))


def _sum(some: Iterable[Told]) -> int | None:
    costs = [cost for step in some if (cost := step.cost_nano) is not None]
    return sum(costs) if costs else None


def _number(step: Told) -> int:
    return step.number


@dataclass(frozen=True, slots=True)
class Numbered:
    """Some of a turn's steps, with what they say and their numbers."""

    steps: Sequence[ForeignStep]
    said: Sequence[Said]
    numbers: Sequence[int]


def plan_some(turn: int, record: ForeignTurn, some: Numbered, keys: Mapping[str, int]) -> Plan:
    """The same of some steps of a turn; ``keys`` are those of all, by the sender's ids. Reads only."""
    told = [
        step_rows.told(turn, number, step, said, keys, _start(step, record), _cost(step, record))
        for step, said, number in zip(some.steps, some.said, some.numbers, strict=True)
    ]
    return Plan(_stored_among([step.key for step in told]), told, _sum(told))


def stored_keys(turn: int) -> list[tuple[str, int, int]]:
    """(the sender's id, key, number) of a turn's steps."""
    return [(name, key, number) for name, key, number in _KEYS.all(turn)]


def leave_room(turn: int) -> None:
    """For those that will step aside, where some stand aside already: whoever wrote them broke off."""
    execute(_FURTHER_ASIDE, AWAY, turn)


def write_some(turn: int, planned: Plan) -> None:
    """Bring some steps of a turn to what is planned; what stands at their numbers steps aside, until it is written
    itself or dropped."""
    numbers = {step.number: step.key for step in planned.steps}
    there = _AT.all(turn, min(numbers), max(numbers)) if numbers else []
    execute_many(_ASIDE, ([key] for key, number in there if numbers.get(number, key) != key))
    write([planned])


def drop(keys: Sequence[int]) -> None:
    """Take steps away that are no longer told of, within the caller's transaction."""
    _drop_details(keys)
    _drop(keys)


def _stored(turn: int) -> dict[int, _Stored]:
    return _together(_ROWS.all(turn), _DETAILS.all(turn))


def _stored_among(keys: Sequence[int]) -> dict[int, _Stored]:
    return _together(_ROWS_AMONG.all(keys), _DETAILS_AMONG.all(keys))


def _together(rows: Iterable[Sequence[Any]], told: Iterable[Sequence[Any]]) -> dict[int, _Stored]:
    details = {key: (kind, body, error) for key, kind, body, error in told}
    return {
        row[0]: _Stored(tuple(row), _unpacked(row[0], *details[row[0]]) if row[0] in details else None) for row in rows
    }


def _unpacked(key: int, kind: int, body: bytes, error: str) -> tuple[bytes, str]:
    return large_values.unpack(key, kind, body), error


def _start(step: ForeignStep, record: ForeignTurn) -> int:
    return step.started_us or record.started_us


def _cost(step: ForeignStep, record: ForeignTurn) -> Cost:
    """What the sender says it cost; else what our prices say."""
    if step.usage is None:
        return None, None
    if step.cost_nano is not None:
        return step.cost_nano, None
    return prices.cost(step.model, step.usage, step.ended_us or record.started_us, alias=step.name)


# ------------------------------------------------------------------------------------------- writing


def write(plans: Sequence[Plan]) -> None:
    """Bring the steps to what is planned. Their turns' rows stand already: the database would else look through
    all steps for each one whose turn comes later."""
    for planned in plans:
        if planned.stored:
            _make_way(planned)
    moved = _where(plans, _is_moved)
    retold = [step for step in _where(plans, _is_retold) if step.said.detail is not None]
    _PUT.many(step.row for step in moved)
    _PUT_DETAIL.many(_detail_row(step, step.said.detail) for step in retold if step.said.detail is not None)
    search.put_steps((step.key, step.said.words) for step in retold)
    for step in (*moved, *retold):
        changes.note(ChangeKind.STEP, step.key)


def _where(plans: Sequence[Plan], differs: Callable[[Told, _Stored | None], bool]) -> list[Told]:
    return [step for planned in plans for step in planned.steps if differs(step, planned.stored.get(step.key))]


def _is_moved(step: Told, stored: _Stored | None) -> bool:
    return stored is None or stored.row != step.row


def _is_retold(step: Told, stored: _Stored | None) -> bool:
    told = None if step.said.detail is None else (step.said.detail, step.said.error)
    return told != (stored.told if stored else None)


def _detail_row(step: Told, detail: bytes) -> tuple[Any, ...]:
    return (step.key, *large_values.put(step.key, detail), step.said.error)


def _make_way(planned: Plan) -> None:
    """For what stands differently now, within the caller's transaction."""
    stored = planned.stored
    gone = stored.keys() - {step.key for step in planned.steps}
    known = [step for step in planned.steps if step.key in stored]
    retold = [step.key for step in known if stored[step.key].told and _is_retold(step, stored[step.key])]
    _drop_details([*retold, *sorted(gone)])
    _drop(sorted(gone))
    # no two steps of a turn may have one number, not even for a moment
    execute_many(_ASIDE, ([step.key] for step in known if _is_moved(step, stored[step.key])))


def _drop_details(keys: Sequence[int]) -> None:
    search.remove([], list(keys))
    for some in _chunks(keys):
        large_values.drop(some)
        StepDetail.objects.filter(step_id__in=some)._raw_delete("default")


def _drop(keys: Sequence[int]) -> None:
    """Steps that are no longer told of. What was said of them is said of their turn."""
    for some in _chunks(keys):
        StepTag.objects.filter(step_id__in=some).delete()
        deletion_hooks.merge_steps(some)
        Step.objects.unscoped("projection").filter(pk__in=some)._raw_delete("default")
    for key in keys:
        changes.note(ChangeKind.STEP, key, deleted=True)


def _chunks(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))
