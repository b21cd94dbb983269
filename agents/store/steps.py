"""Step rows out of step events, and the details of steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any

from agents.models import ChangeKind, Step, StepDetail, StepStatus, StepType
from agents.models.choices import TermKind
from agents.schemas.content import ToolCall, text_of
from agents.schemas.events import (
    ErrorInfo,
    InferenceDetail,
    MemoryDetail,
    OtherDetail,
    ShieldDetail,
    StepEnded,
    StepStarted,
    ToolDetail,
)
from agents.schemas.events import StepDetail as AnyDetail
from agents.store import changes, prices, search, terms
from agents.store.encoding import pack
from agents.store.sql import Insert, Update

_FIELDS = (
    "id turn_id number round type tool_id model_id name server_side started_at status completed_at duration_us ttft_us "
    "violation error_type_id input_tokens output_tokens cached_tokens reasoning_tokens cost_nano price_id"
)
_ADD = Insert(Step, _FIELDS)
_PUT_DETAIL = Insert(StepDetail, "step_id encoding body error", replace="step_id")


def fold(turn: int, events: Sequence[StepStarted | StepEnded]) -> int:
    """Write the steps these events begin and end; returns the bit mask of the types begun. A step
    that begins and ends in the same batch is written once."""
    started = {event.step: event for event in events if isinstance(event, StepStarted)}
    ended = {event.step: event for event in events if isinstance(event, StepEnded)}
    _ADD.many(_row(turn, event, ended.get(key)) for key, event in started.items())
    for key, end in ended.items():
        if key not in started:
            change = Update(Step)
            change.set(**_ending(end))
            change.write("id", key)
    known = {key: event.detail for key, event in started.items() if event.detail}
    details = known | {key: end.detail for key, end in ended.items()}
    _PUT_DETAIL.many(_detail_row(key, detail, ended.get(key)) for key, detail in details.items())
    for key, end in ended.items():
        search.index_step(key, turn, search_text(end))
    for key in {event.step for event in events}:
        changes.note(ChangeKind.STEP, key)
    return reduce(or_, (1 << _TYPES[event.step_type] for event in started.values()), 0)


_TYPES = {choice.label: choice.value for choice in StepType}
_STATUSES = {choice.label: choice.value for choice in StepStatus}


def _row(turn: int, event: StepStarted, end: StepEnded | None) -> tuple[Any, ...]:
    type_ = _TYPES[event.step_type]
    tool = terms.intern(TermKind.TOOL, event.name) if type_ == StepType.TOOL_EXECUTION else None
    model = terms.intern(TermKind.MODEL, event.name) if type_ == StepType.INFERENCE else None
    head = (event.step, turn, event.number, event.round, type_, tool, model, event.name[:300])
    ending = _ending(end) if end else {**_OPEN, "status": _STATUSES[event.status]}
    return (*head, event.server_side, event.at, *ending.values())


_OPEN: dict[str, Any] = {
    "status": 0,
    "completed_at": None,
    "duration_us": None,
    "ttft_us": None,
    "violation": False,
    "error_type_id": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "cached_tokens": 0,
    "reasoning_tokens": 0,
    "cost_nano": None,
    "price_id": None,
}


def _ending(event: StepEnded) -> dict[str, Any]:
    """What an ended step's columns hold, in the order of `_OPEN`."""
    fields = {
        **_OPEN,
        "status": _STATUSES[event.status],
        "completed_at": event.at,
        "duration_us": max(event.at - event.started_at, 0),
        "ttft_us": event.ttft_us,
        "violation": violates(event),
        "error_type_id": error_term(event.error),
    }
    if event.usage is not None:
        fields |= event.usage.model_dump()
        fields["cost_nano"], fields["price_id"] = prices.cost(_model(event), event.usage, event.at)
    return fields


def _detail_row(key: int, detail: AnyDetail, end: StepEnded | None) -> tuple[Any, ...]:
    encoding, body = pack(detail.model_dump_json(exclude_none=True).encode())
    error = end.error.model_dump_json(exclude_none=True) if end and end.error else ""
    return key, encoding, body, error


def cost_of(event: StepEnded) -> int | None:
    """Billionths of a dollar, None while unknown."""
    return prices.cost(_model(event), event.usage, event.at)[0] if event.usage else None


def _model(event: StepEnded) -> str:
    return event.detail.model if isinstance(event.detail, InferenceDetail) and event.detail.model else event.name


def error_term(error: ErrorInfo | None) -> int | None:
    """The interned type of an error."""
    return terms.intern(TermKind.ERROR, error.type) if error else None


def violates(event: StepEnded) -> bool:
    """Whether a shield said no."""
    detail = event.detail
    return isinstance(detail, ShieldDetail) and detail.violation is not None


def words_of_input(messages: str) -> str:
    """The texts of stored input messages."""
    out = []
    for message in json.loads(messages):
        content = message.get("content")
        items = [content] if isinstance(content, str | dict) else content or []
        out += [item if isinstance(item, str) else item.get("text", "") for item in items]
    return "\n".join(out)


def search_text(event: StepEnded) -> str:
    """The words of a step: what it called, got, thought, found, or why it failed."""
    parts: list[str] = [event.name, event.error.message if event.error else ""]
    match event.detail:
        case InferenceDetail() as detail:
            parts += [text_of(detail.model_response.content), detail.reasoning]
            parts += [_call_text(call) for call in detail.model_response.tool_calls]
        case ToolDetail() as detail:
            parts += [_call_text(call) for call in detail.tool_calls]
            parts += [text_of(response.content) for response in detail.tool_responses]
        case ShieldDetail() as detail:
            parts += [detail.violation.user_message or "" if detail.violation else "", *detail.shields]
        case MemoryDetail() as detail:
            parts += [detail.query, text_of(detail.inserted_context)]
        case OtherDetail() as detail:
            parts += [detail.kind, json.dumps(detail.data, ensure_ascii=False)]
    return "\n".join(part for part in parts if part)


def _call_text(call: ToolCall) -> str:
    return f"{call.tool_name} {call.arguments_json or json.dumps(call.arguments, ensure_ascii=False)}"
