"""Scores as the clients of Langfuse and LangSmith send them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from agents.base.schemas.wire import null_is
from agents.record.schemas.tags import Name

MAX_COMMENT_CHARS = 8_000

Id = Annotated[str, StringConstraints(strip_whitespace=True, max_length=128), null_is("")]
Comment = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_COMMENT_CHARS), null_is("")]
Label = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)]
Moment = Annotated[str, StringConstraints(max_length=40), null_is("")]
DataType = Literal["NUMERIC", "BOOLEAN", "CATEGORICAL", "TEXT", "CORRECTION"]


class Sent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)


class LangfuseScore(Sent):
    """A score of ``POST /api/public/scores``, and the body of the event ``score-create``. Those of a session or of a
    run of a data set alone are refused: nothing here would be scored."""

    id: Id = ""
    traceId: Id = ""
    observationId: Id = ""
    name: Name
    value: bool | float | Label
    dataType: DataType | None = None
    comment: Comment = ""
    timestamp: Moment = ""

    @model_validator(mode="after")
    def _check(self) -> LangfuseScore:
        is_text = isinstance(self.value, str)
        if not self.traceId:
            raise ValueError("traceId: say which trace is scored; sessions and runs of data sets cannot be.")
        if is_text and self.dataType in ("NUMERIC", "BOOLEAN"):
            raise ValueError(f"value: a number is needed where dataType is {self.dataType}.")
        if not is_text and self.dataType in ("CATEGORICAL", "TEXT", "CORRECTION"):
            raise ValueError(f"value: text is needed where dataType is {self.dataType}.")
        if self.dataType == "BOOLEAN" and self.value not in (0, 1):
            raise ValueError("value: 0 or 1 where dataType is BOOLEAN.")
        return self


class LangfuseEvent(Sent):
    """An event of ``POST /api/public/ingestion``."""

    id: Annotated[str, StringConstraints(max_length=128)]
    type: Annotated[str, StringConstraints(max_length=100)]
    body: Any = None


class LangfuseBatch(Sent):
    batch: Annotated[list[Any], Field(max_length=10_000)]


class LangSmithChanges(Sent):
    """The body of ``PATCH /feedback/{id}``: null clears a field."""

    score: bool | float | Label | None = None
    value: bool | float | Label | dict[str, Any] | None = None
    correction: Label | dict[str, Any] | None = None
    comment: Comment = ""


class LangSmithFeedback(LangSmithChanges):
    """The body of ``POST /feedback``. ``value`` is a word for the score, or all there is of it."""

    id: Id = ""
    run_id: Id = ""
    trace_id: Id = ""
    key: Name
    created_at: Moment = ""

    @model_validator(mode="after")
    def _check(self) -> LangSmithFeedback:
        if not self.run_id and not self.trace_id:
            raise ValueError("run_id: say which run the feedback is on; projects and experiments have none here.")
        if self.score is None and self.value is None and not self.comment and not self.correction:
            raise ValueError("score: say something: a score, a value, a correction or a comment.")
        return self
