"""What people say of records, on the wire: thumbs, named scores, comments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from agents.base.schemas.wire import SessionKey, StepKey, Timestamp, TurnKey, Wire, WireOutput, null_is
from agents.record.schemas.tags import MOST, Name

COMMENT_BYTES = 8 * 1024


def _short(comment: str) -> str:
    if len(comment.encode(errors="replace")) > COMMENT_BYTES:
        raise ValueError(f"a comment has at most {COMMENT_BYTES:,} bytes")
    return comment


def _listed(value: Any) -> Any:
    """One score for a list of one."""
    return [value] if isinstance(value, dict) else [] if value is None else value


Comment = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_short), null_is("")]
Rating = Literal["up", "down"]


class Score(Wire):
    """A named number, such as ``{"name": "helpful", "value": 0.9}``."""

    name: Name
    value: float


_SAYS = {
    "rating": {"type": "string"},
    "score": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]},
    "comment": {"type": "string", "pattern": r"\S"},
    "tags": {"type": "array", "minItems": 1},
}


def _says_something(schema: dict[str, Any]) -> None:
    """One of these has to be given, and about something: said apart, as a judgement is of one record alone."""
    names = ("turn_id", "session_id", "step_id", "response_id")
    schema["anyOf"] = [{"required": [name], "properties": {name: inner}} for name, inner in _SAYS.items()]
    schema["allOf"] = [{"anyOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in names]}]


class CreateFeedback(Wire):
    """A judgement of exactly one record. ``score`` is one score or a list of them, ``user`` the end user
    who judges, where the caller is an application; ``tags`` (which need the action ``run``) are put on
    the record itself."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_says_something)

    turn_id: str | None = None
    session_id: str | None = None
    step_id: str | None = None
    response_id: str | None = None
    rating: Rating | None = None
    score: Annotated[list[Score], BeforeValidator(_listed), Field(max_length=MOST)] = []
    comment: Comment = ""
    user: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), null_is("")] = ""
    tags: Annotated[list[Name], Field(max_length=MOST), null_is([])] = []


class FeedbackObject(WireOutput):
    """A judgement as it is stored. ``user`` is who made it; ``mine`` is that the caller may take it back."""

    id: str
    object: Literal["feedback"] = "feedback"
    turn_id: TurnKey | None
    session_id: SessionKey
    step_id: StepKey | None
    rating: Rating | None
    score: Score | None
    comment: str
    user: str
    created_at: Timestamp
    updated_at: Timestamp
    mine: bool


class FeedbackCreated(WireOutput):
    """What was stored: the thumb with the comment, and each score. ``tags`` are all that the record
    now has."""

    data: list[FeedbackObject]
    tags: list[str]


class FeedbackList(WireOutput):
    """Judgements, newest first."""

    data: list[FeedbackObject]
    has_more: bool
    last_id: str | None


class Tags(WireOutput):
    """The tags of a record, in order."""

    tags: list[str]
