"""Scores of Langfuse and feedback of LangSmith as log records of their traces (`evaluations`): they are kept until the
spans they are about have arrived, and go wherever these go."""

from __future__ import annotations

import uuid
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from agents.base.errors import InvalidRequest
from agents.record.schemas.feedback import ReportedFeedback
from agents.telemetry.reading import evaluations
from agents.telemetry.reading.sanitize import clean_json, clean_text
from agents.telemetry.reading.spans import Format, Span, SpanEvent
from agents.telemetry.reading.timestamps import nanoseconds
from agents.telemetry.schemas.scores import LangfuseScore, LangSmithFeedback

M = TypeVar("M", bound=BaseModel)


def read(model: type[M], body: object) -> M:
    """Validate what was sent. Raises `InvalidRequest` with the field."""
    try:
        return model.model_validate(clean_json(body))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        # a rule of several fields names its own; of a union the path ends in the names of its types
        field = str(first["loc"][0]) if first["loc"] else message.partition(":")[0]
        message_with_field = message if not first["loc"] else f"{field}: {message}"
        raise InvalidRequest(message_with_field, code="invalid_body", param=field) from error


def langfuse_span(body: object, author: str, now_us: int) -> tuple[str, Span]:
    """Read a score of Langfuse; returns its id and its log record. Raises `InvalidRequest`."""
    score = read(LangfuseScore, body)
    trace = score.traceId.lower() if len(score.traceId) == 32 else score.traceId
    value, label = (None, score.value) if isinstance(score.value, str) else (float(score.value), "")
    entry = ReportedFeedback(
        id=score.id or str(uuid.uuid4()),
        name=score.name,
        value=value,
        comment=evaluations.comment_of(score.name, value, label, score.comment),
        author=author,
        created_us=nanoseconds(score.timestamp) // 1000 or now_us,
        updated_us=now_us,
    )
    return entry.id, _span(trace, score.observationId, entry, "otlp")


def langsmith_span(body: object, author: str, now_us: int) -> tuple[str, Span]:
    """Read feedback of LangSmith; returns its id and its log record. Raises `InvalidRequest`."""
    feedback = read(LangSmithFeedback, body)
    number = next(
        (float(number) for number in (feedback.score, feedback.value) if isinstance(number, (bool, int, float))), None
    )
    label = feedback.value if isinstance(feedback.value, str) else ""
    if isinstance(feedback.value, dict):
        label = msgspec.json.encode(feedback.value).decode()
    entry = ReportedFeedback(
        id=feedback.id or str(uuid.uuid4()),
        name=feedback.key,
        value=number,
        comment=evaluations.comment_of(feedback.key, number, label, feedback.comment),
        author=author,
        created_us=nanoseconds(feedback.created_at) // 1000 or now_us,
        updated_us=now_us,
    )
    run = feedback.run_id or feedback.trace_id
    return entry.id, _span(feedback.trace_id or run, run, entry, "langsmith")


def _span(trace: str, observation: str, entry: ReportedFeedback, format_: Format) -> Span:
    """The log record of an entry. That on a whole trace names the trace as its span: no span has such an id, or it is
    the one at the top."""
    attributes: dict[str, Any] = {
        evaluations.NAME: entry.name,
        evaluations.VALUE: entry.value,
        evaluations.EXPLANATION: entry.comment,
        evaluations.FEEDBACK: msgspec.json.encode(entry).decode(),
    }
    event = SpanEvent(
        evaluations.EVENT,
        entry.updated_us * 1000,
        {name: value for name, value in attributes.items() if value not in (None, "")},
    )
    return Span(clean_text(trace), clean_text(observation or trace), events=[event], format=format_, is_log=True)
