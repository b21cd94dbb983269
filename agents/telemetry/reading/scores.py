"""Scores of Langfuse and feedback of LangSmith as log records of their traces (`evaluations`): they are kept until the
spans they are about have arrived, and go wherever these go."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from agents.base.errors import InvalidRequest
from agents.base.schemas.wire import iso
from agents.record.schemas.feedback import ReportedFeedback
from agents.telemetry.reading import evaluations
from agents.telemetry.reading.sanitize import clean_json, clean_text
from agents.telemetry.reading.spans import Format, Span, SpanEvent
from agents.telemetry.reading.timestamps import nanoseconds
from agents.telemetry.schemas.scores import LangfuseScore, LangSmithChanges, LangSmithFeedback

M = TypeVar("M", bound=BaseModel)
LANGSMITH_BODY = "langsmith.feedback"
MAX_NAME = 100


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


@dataclass(frozen=True, slots=True)
class SentScore:
    """A score of a trace, or of an ``observation`` of it. ``body`` is what LangSmith's client sent, as JSON, for later
    changes of single fields."""

    trace: str
    observation: str
    entry: ReportedFeedback
    format: Format
    body: str = ""

    def span(self) -> Span:
        """The log record of the entry. That on a whole trace names the trace as its span: no span has such an id, or
        it is the one at the top."""
        entry = self.entry
        attributes: dict[str, Any] = {
            evaluations.NAME: entry.name,
            evaluations.VALUE: entry.value,
            evaluations.EXPLANATION: entry.comment,
            evaluations.FEEDBACK: msgspec.json.encode(entry).decode(),
            LANGSMITH_BODY: self.body,
        }
        event = SpanEvent(
            evaluations.EVENT,
            entry.updated_us * 1000,
            {name: value for name, value in attributes.items() if value not in (None, "")},
        )
        trace, span_id = clean_text(self.trace), clean_text(self.observation or self.trace)
        return Span(trace, span_id, events=[event], format=self.format, is_log=True)


def from_langfuse(body: object, author: str, now_us: int) -> SentScore:
    """Read a score of Langfuse. Raises `InvalidRequest`."""
    score = read(LangfuseScore, body)
    trace = score.traceId.lower() if len(score.traceId) == 32 else score.traceId
    value, label = (None, score.value) if isinstance(score.value, str) else (float(score.value), "")
    entry = ReportedFeedback(
        id=score.id or str(uuid.uuid4()),
        name=score.name,
        value=value,
        comment=evaluations.comment_of(score.name, label, score.comment),
        author=author,
        created_us=nanoseconds(score.timestamp) // 1000 or now_us,
        updated_us=now_us,
    )
    return SentScore(trace, score.observationId, entry, "otlp")


def from_langsmith(body: object, author: str, now_us: int) -> SentScore:
    """Read feedback of LangSmith. Raises `InvalidRequest`."""
    feedback = read(LangSmithFeedback, body)
    given = (feedback.score, feedback.value)
    label = next((_label(value) for value in reversed(given) if isinstance(value, (str, dict))), "")
    correction = f"correction: {_label(feedback.correction)}" if feedback.correction else ""
    entry = ReportedFeedback(
        id=feedback.id or str(uuid.uuid4()),
        name=feedback.key,
        value=next((float(value) for value in given if isinstance(value, (bool, int, float))), None),
        comment=evaluations.comment_of(feedback.key, label, "\n".join(filter(None, (feedback.comment, correction)))),
        author=author,
        created_us=nanoseconds(feedback.created_at) // 1000 or now_us,
        updated_us=now_us,
    )
    run = feedback.run_id or feedback.trace_id
    sent = feedback.model_copy(update={"id": entry.id}).model_dump_json(exclude_defaults=True)
    return SentScore(feedback.trace_id or run, run, entry, "langsmith", sent)


def changed(body: Mapping[str, Any], changes: object, author: str, now_us: int) -> SentScore:
    """Read feedback of LangSmith again, with other values of the fields that ``changes`` names: null clears one.
    Raises `InvalidRequest`."""
    fields = read(LangSmithChanges, changes).model_dump(exclude_unset=True)
    return from_langsmith({**body, **fields}, author, now_us)


def body_of(entry: ReportedFeedback, run: str) -> dict[str, Any]:
    """Return what may have been sent for an entry that is there as feedback alone."""
    verdict, _, explanation = entry.comment.partition("\n")
    name, _, label = verdict.partition(": ")
    fields = {"id": entry.id, "run_id": run, "created_at": iso(entry.created_us), "score": entry.value}
    if label and name == (entry.name or name):
        return {**fields, "key": name[:MAX_NAME], "value": label, "comment": explanation}
    return {**fields, "key": entry.name or "comment", "comment": entry.comment}


def _label(value: str | dict[str, Any]) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
