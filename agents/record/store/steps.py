"""Writes step events as rows and details of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from agents.base.models.changes import ChangeKind
from agents.base.models.terms import TermKind
from agents.base.store import changes, terms
from agents.base.store.sql import Insert, Update
from agents.record.models.choices import StepStatus, StepType
from agents.record.models.turns import Step, StepDetail
from agents.record.schemas.events import ErrorInfo, InferenceDetail, OtherDetail, ShieldDetail, StepEnded, StepStarted
from agents.record.schemas.events import StepDetail as AnyDetail
from agents.record.store import costs as prices
from agents.record.store import large_values, search, searchable_text

_FIELDS = (
    "id turn_id number round type tool_id model_id name server_side started_at status completed_at duration_us ttft_us "
    "violation error_type_id kind_id finish_id input_tokens output_tokens cached_tokens reasoning_tokens cost_nano "
    "price_id"
)
_ADD = Insert(Step, _FIELDS)
_PUT_DETAIL = Insert(StepDetail, "step_id encoding body error", replace="step_id")


Costs = Mapping[int, tuple[int | None, int | None]]
"""By step: billionths of a dollar and the price's id, both None while unknown."""


def costs(events: Iterable[StepEnded]) -> Costs:
    """Compute the cost of each of these steps, once: a step and the sums above it must agree."""
    return {
        event.step: prices.cost(_model(event), event.usage, event.at, alias=event.name)
        for event in events
        if event.usage is not None
    }


def fold(turn: int, events: Sequence[StepStarted | StepEnded], priced: Costs) -> int:
    """Write the steps these events begin and end; returns the bit mask of the types begun. A step
    that begins and ends in the same batch is written once."""
    started = {event.step: event for event in events if isinstance(event, StepStarted)}
    ends = {event.step: event for event in events if isinstance(event, StepEnded)}
    _ADD.execute_many(_row(turn, event, ends.get(key), priced) for key, event in started.items())
    for key, end in ends.items():
        if key not in started:
            change = Update(Step)
            change.set(**_ending(end, priced))
            change.write("id", key)
    details_at_start = {key: event.detail for key, event in started.items() if event.detail}
    details = details_at_start | {key: end.detail for key, end in ends.items()}
    _PUT_DETAIL.execute_many(_detail_row(key, detail, ends.get(key)) for key, detail in details.items())
    for key, detail in details.items():
        search.index_step(key, searchable_text.of_step(detail, ends[key].error if key in ends else None))
    for key in {event.step for event in events}:
        changes.note(ChangeKind.STEP, key)
    return reduce(or_, (1 << _TYPES[event.step_type] for event in started.values()), 0)


_TYPES = {choice.label: choice.value for choice in StepType}
_STATUSES = {choice.label: choice.value for choice in StepStatus}


def _row(turn: int, event: StepStarted, end: StepEnded | None, priced: Costs) -> tuple[Any, ...]:
    type_ = _TYPES[event.step_type]
    tool = terms.intern(TermKind.TOOL, event.name) if type_ == StepType.TOOL_EXECUTION else None
    model = terms.intern(TermKind.MODEL, event.name) if type_ == StepType.INFERENCE else None
    head = (event.step, turn, event.number, event.round, type_, tool, model, event.name[:300])
    ending = _ending(end, priced) if end else {**_OPEN, "status": _STATUSES[event.status]}
    return (*head, event.server_side, event.at, *ending.values())


_OPEN: dict[str, Any] = {
    "status": 0,
    "completed_at": None,
    "duration_us": None,
    "ttft_us": None,
    "violation": False,
    "error_type_id": None,
    "kind_id": None,
    "finish_id": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "cached_tokens": 0,
    "reasoning_tokens": 0,
    "cost_nano": None,
    "price_id": None,
}


def _ending(event: StepEnded, priced: Costs) -> dict[str, Any]:
    """Return the columns of an ended step, in the order of `_OPEN`."""
    fields = {
        **_OPEN,
        "status": _STATUSES[event.status],
        "completed_at": event.at,
        "duration_us": max(event.at - event.started_at, 0),
        "ttft_us": event.ttft_us,
        "violation": violates(event),
        "error_type_id": error_term(event.error),
        "kind_id": terms.intern(TermKind.STEP_KIND, event.detail.kind)
        if isinstance(event.detail, OtherDetail)
        else None,
        "finish_id": terms.intern(TermKind.FINISH, _finish(event)),
    }
    if event.usage is not None:
        fields |= event.usage.model_dump()
        fields["cost_nano"], fields["price_id"] = priced[event.step]
    return fields


def _detail_row(key: int, detail: AnyDetail, end: StepEnded | None) -> tuple[Any, ...]:
    encoding, body = large_values.put(key, detail.model_dump_json(exclude_none=True).encode())
    error = end.error.model_dump_json(exclude_none=True) if end and end.error else ""
    return key, encoding, body, error


def _finish(event: StepEnded) -> str:
    """Return the stop reason of an inference; empty for other steps."""
    return event.detail.model_response.stop_reason if isinstance(event.detail, InferenceDetail) else ""


def _model(event: StepEnded) -> str:
    return event.detail.model if isinstance(event.detail, InferenceDetail) and event.detail.model else event.name


def error_term(error: ErrorInfo | None) -> int | None:
    """Return the interned type of an error."""
    return terms.intern(TermKind.ERROR, error.type) if error else None


def violates(event: StepEnded) -> bool:
    """Tell whether the step is a shield that found a violation."""
    return objects(event.detail)


def objects(detail: AnyDetail) -> bool:
    """Tell whether the detail is of a shield that found a violation."""
    return isinstance(detail, ShieldDetail) and detail.violation is not None
