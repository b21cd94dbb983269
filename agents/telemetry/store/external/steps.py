"""The steps of foreign turns as rows. Of a turn that has grown only what differs from what is stored is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from agents.base import ids
from agents.base.store import changes
from agents.base.store.sql import Insert, Select, execute_many
from agents.feedback.models import Feedback, StepTag
from agents.record.models.choices import ChangeKind, StepType
from agents.record.models.turns import Step, StepDetail
from agents.record.store import costs, large_values, search
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
_ASIDE = "UPDATE agents_step SET number = -1 - number WHERE id = %s"
CHUNK = 500


@dataclass(frozen=True, slots=True)
class _Stored:
    """What there is of a step: its row, and its detail and error as JSON, None where it has none."""

    row: tuple[Any, ...]
    told: tuple[bytes, str] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written of a turn's steps, in order. ``stored`` is what there is of them, by key; ``types`` a
    bit mask, ``cost_nano`` the sum, None where nobody knows any."""

    stored: Mapping[int, _Stored]
    steps: Sequence[Told]
    types: int
    cost_nano: int | None


def words(record: ForeignTurn, said: Sequence[Said]) -> Iterable[search.StepWords]:
    """Of each step that has any, in order, those it is found by."""
    places = {step.id: place for place, step in enumerate(record.steps)}
    return (said[place].words for place in sorted(places.values()) if said[place].detail is not None)


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
    some = [cost for step in told.values() if (cost := step.cost_nano) is not None]
    types = reduce(or_, (1 << StepType[step.type.upper()] for step in record.steps), 0)
    return Plan(stored, sorted(told.values(), key=_number), types, sum(some) if some else None)


def _number(step: Told) -> int:
    return step.number


def _stored(turn: int) -> dict[int, _Stored]:
    details = {key: (kind, body, error) for key, kind, body, error in _DETAILS.all(turn)}
    return {
        row[0]: _Stored(row, _unpacked(row[0], *details[row[0]]) if row[0] in details else None)
        for row in _ROWS.all(turn)
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
    return costs.cost(step.model, step.usage, step.ended_us or record.started_us, alias=step.name)


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
        Feedback.objects.filter(step_id__in=some).update(step=None)
        Step.objects.unscoped("projection").filter(pk__in=some)._raw_delete("default")
    for key in keys:
        changes.note(ChangeKind.STEP, key, deleted=True)


def _chunks(keys: Sequence[int]) -> Iterable[Sequence[int]]:
    return (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))
