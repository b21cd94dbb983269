"""Reader of turns that a server like this one exported: restored as they were, not inferred from spans.

A line of ``/v1/logs/turns/export?whole=true`` has the whole turn under ``record`` (`agents.record.schemas.records`),
and so has a row of the same as Parquet, as text. It becomes one span, of the format "turns", that carries the record as
text. The same records are, the turn's separate from its steps', in the attributes `TURN_ATTRIBUTE` and `STEP_ATTRIBUTE`
of the spans that such a server writes as OTLP files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from pydantic import ValidationError

from agents.base.errors import InvalidRequest
from agents.record.schemas.events import DETAILS, OtherDetail, StepDetail
from agents.record.schemas.feedback import ReportedFeedback
from agents.record.schemas.records import FeedbackRecord, StepRecord, TurnRecord
from agents.telemetry.reading import evaluations
from agents.telemetry.reading.coerce import text
from agents.telemetry.reading.decoding import Decoded, FormatError
from agents.telemetry.reading.json_text import parse_json
from agents.telemetry.reading.records import ExternalStep, ExternalTurn
from agents.telemetry.reading.sanitize import MAX_DEPTH, MAX_NAME_CHARS, clean_json
from agents.telemetry.reading.spans import Span

TURN_ATTRIBUTE, STEP_ATTRIBUTE = "agents.turn", "agents.step"
"""Attributes with the JSON of a record; a turn's has no steps where they have spans of their own."""
SERVICE, SCOPE = "agents", "agents"
"""The resource's name and the scope of these spans."""
RECORD_COLUMN = "record"
"""The field of an exported line, and the column of an exported table, with a record."""
MAX_LABELS = 100
METADATA_DEPTH = 8
"""Levels of metadata that are stored: a query can name each value of a list by several paths, at each level."""
_RECORD_ERRORS = (ValueError, TypeError, OverflowError, RecursionError)
"""Exceptions that a hostile record can raise; pydantic's ValidationError is a ValueError."""
_UNREADABLE = (InvalidRequest, FormatError, *_RECORD_ERRORS)


def from_json(body: object) -> Decoded:
    """Decode one line to its span. Raises `InvalidRequest`."""
    record = body.get(RECORD_COLUMN) if isinstance(body, dict) else None
    if record is None:
        raise InvalidRequest("there is no whole turn in it: export with whole=true.", code="invalid_body")
    turn = read_turn(record)
    record_json = turn.model_dump_json(exclude_none=True)
    own_id = blake2b(record_json.encode("utf-8", "replace"), digest_size=16).hexdigest()
    times = (turn.started_at * 1000, (turn.completed_at or 0) * 1000)
    span = Span(_trace(turn.id), own_id, "", "turn", *times, attributes={TURN_ATTRIBUTE: record_json}, format="turns")
    return Decoded([span])


def from_row(row: Mapping[str, Any]) -> Decoded:
    """Decode one row of a table, which has the record as text. Raises `InvalidRequest`, `FormatError`."""
    record_json = row.get(RECORD_COLUMN)
    return from_json({RECORD_COLUMN: parse_json(record_json) if isinstance(record_json, str) else record_json})


def _trace(public_id: str) -> str:
    """Return the trace of a turn: the digits of its id, as in OpenTelemetry's files of it."""
    digits = public_id.replace("-", "").lower()
    return digits if len(digits) == 32 else public_id


def read_turn(value: object) -> TurnRecord:
    """Validate a turn's record. Raises `InvalidRequest` with the path of the wrong field."""
    try:
        record = TurnRecord.model_validate(clean_json(value))
        for step in record.steps:
            _detail(step)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(("record", *map(str, first["loc"])))[:200]
        raise InvalidRequest(f"{path}: {first['msg']}", code="invalid_body") from error
    except _RECORD_ERRORS as error:
        raise InvalidRequest(f"record: {str(error)[:200]}", code="invalid_body") from error
    return record


def turn_of(trace: str, spans: Mapping[str, Span] | Iterable[Span]) -> ExternalTurn | None:
    """Return the turn of a trace that carries its record; None of any other trace."""
    all_spans = list(spans.values() if isinstance(spans, Mapping) else spans)
    records = [
        (record, record_json)
        for span in all_spans
        if (record_json := _attribute_text(span, TURN_ATTRIBUTE)) and (record := _parse_record(record_json))
    ]
    if not records:
        return None
    record, _ = max(records, key=lambda entry: _newness(*entry))
    return _turn(trace, record, record.steps or _steps(all_spans))


def _attribute_text(span: Span, name: str) -> str:
    value = span.attributes.get(name)
    return value if isinstance(value, str) else ""


def _parse_record(record_json: str) -> TurnRecord | None:
    try:
        return read_turn(parse_json(record_json))
    except _UNREADABLE:
        return None  # the spans say something without it


def _newness(record: TurnRecord, record_json: str) -> tuple[object, ...]:
    """Rank several records of a turn: a finished one goes before one of a turn that still ran, and that with the
    latest feedback before one from before it."""
    judged = max((entry.updated_at for entry in record.feedback), default=0)
    size = len(record.steps), judged, len(record_json), record_json
    return record.completed_at is not None, record.completed_at or 0, *size


def as_reported(entry: FeedbackRecord) -> ReportedFeedback:
    """Return an entry of a record in the form of all that is reported."""
    values = entry.model_dump(exclude={"created_at", "updated_at"})
    return ReportedFeedback(**values, created_us=entry.created_at, updated_us=entry.updated_at)


def _steps(spans: Iterable[Span]) -> list[StepRecord]:
    steps = {}
    for span in spans:
        if step_json := _attribute_text(span, STEP_ATTRIBUTE):
            try:
                step = StepRecord.model_validate(clean_json(parse_json(step_json)))
                _detail(step)
            except _UNREADABLE:
                continue  # one step must not hide the others
            steps[step.id] = step
    return sorted(steps.values(), key=lambda step: (step.number, step.id))


def _turn(trace: str, record: TurnRecord, steps: Sequence[StepRecord]) -> ExternalTurn:
    agent = (record.agent.name or record.agent.model or record.model)[:MAX_NAME_CHARS]
    external = record.foreign
    names = (*_texts(external.get("agents")), *(step.agent for step in steps if step.agent))
    others = (name[:MAX_NAME_CHARS] for name in names)
    return ExternalTurn(
        id=trace,
        session=record.session.id,
        session_name=record.session.name[:MAX_NAME_CHARS] or None,
        agent=agent,
        status="in_progress" if record.status == "queued" else record.status,
        started_us=record.started_at,
        ended_us=record.completed_at,
        waited_us=record.waited_us,
        agents=tuple(dict.fromkeys((agent, *others))),
        traces=(trace,),
        input=tuple(record.input),
        output=record.output,
        error=record.error,
        stop_reason=record.stop_reason,
        steps=tuple(_step(trace, step, record, agent) for step in steps),
        model=record.model[:MAX_NAME_CHARS],
        provider=record.provider[:MAX_NAME_CHARS],
        user=record.user[:MAX_NAME_CHARS],
        tags=tuple(tag[:100] for tag in record.tags[:MAX_LABELS] if tag.strip()),
        metadata=cast(dict[str, str], clean_json(record.metadata, MAX_DEPTH - METADATA_DEPTH)),
        instructions=record.agent.instructions,
        agent_model=record.agent.model[:MAX_NAME_CHARS],
        hidden=external.get("hidden") is True,
        warnings=tuple(_texts(external.get("warnings"))),
        feedback=tuple(evaluations.bounded(as_reported(entry)) for entry in record.feedback),
    )


def _texts(value: Any) -> list[str]:
    return [text(item) for item in value[:MAX_LABELS] if isinstance(item, str)] if isinstance(value, list) else []


def _step(trace: str, step: StepRecord, turn: TurnRecord, agent: str) -> ExternalStep:
    detail = _detail(step)
    is_model = step.type == "inference"
    return ExternalStep(
        id=step.id,
        trace=trace,
        type=step.type,
        kind=detail.kind if isinstance(detail, OtherDetail) else "",
        name=step.name[:MAX_NAME_CHARS],
        detail=detail,
        status=step.status,
        parent=step.parent,
        started_us=step.started_at,
        ended_us=step.completed_at,
        ttft_us=step.ttft_us,
        waited_us=step.waited_us,
        model=_model(step, detail)[:MAX_NAME_CHARS] if is_model else "",
        provider=turn.provider[:MAX_NAME_CHARS] if is_model else "",
        usage=step.usage,
        cost_nano=step.cost_nano,
        error=step.error,
        agent=step.agent[:MAX_NAME_CHARS] or agent,
    )


def _model(step: StepRecord, detail: StepDetail) -> str:
    return (getattr(detail, "model", "") or step.name) if step.model is None else step.model


def _detail(step: StepRecord) -> StepDetail:
    """Validate the detail of a step. Raises ValidationError."""
    values = step.detail if step.detail is not None else _EMPTY_DETAILS.get(step.type, {})
    detail: StepDetail = DETAILS[step.type].model_validate(values)
    return detail


_EMPTY_DETAILS: dict[str, dict[str, Any]] = {
    "inference": {"model_response": {"content": ""}},
    "tool_execution": {"tool_calls": []},
    "shield_call": {"touchpoint": "user-input", "shields": []},
    "memory_retrieval": {"vector_db_ids": "", "inserted_context": ""},
    "other": {"kind": "unknown"},
}
