"""The wire types of feedback: ratings, named scores, comments."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from agents.base.schemas.wire import SessionKey, StepKey, Timestamp, TurnKey, Wire, WireOutput, null_is
from agents.logs.schemas.rows import QueryEcho
from agents.record.schemas.tags import MAX_TAGS, Name

MAX_COMMENT_BYTES = 8 * 1024


def _check_length(comment: str) -> str:
    if len(comment.encode(errors="replace")) > MAX_COMMENT_BYTES:
        raise ValueError(f"a comment has at most {MAX_COMMENT_BYTES:,} bytes")
    return comment


def _as_list(value: Any) -> Any:
    """Accept one score as a list of one."""
    return [value] if isinstance(value, dict) else [] if value is None else value


Comment = Annotated[str, StringConstraints(strip_whitespace=True), AfterValidator(_check_length), null_is("")]
Rating = Literal["up", "down"]


class Score(Wire):
    """A named number, such as ``{"name": "helpful", "value": 0.9}``."""

    name: Name
    value: float


_CONTENT_FIELDS = {
    "rating": {"type": "string"},
    "score": {"anyOf": [{"type": "array", "minItems": 1}, {"type": "object"}]},
    "comment": {"type": "string", "pattern": r"\S"},
    "tags": {"type": "array", "minItems": 1},
}


def _require_content(schema: dict[str, Any]) -> None:
    """Require one of these fields and one id: as a list of alternatives, as feedback is on exactly one record."""
    names = ("turn_id", "session_id", "step_id", "response_id")
    schema["anyOf"] = [{"required": [name], "properties": {name: inner}} for name, inner in _CONTENT_FIELDS.items()]
    schema["allOf"] = [{"anyOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in names]}]


class CreateFeedback(Wire):
    """Feedback on exactly one record. ``score`` is one score or a list of them, ``user`` the end user who gives it,
    where the caller is an application; ``tags`` (which need the action ``run``) are put on the record itself."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, json_schema_extra=_require_content)

    turn_id: str | None = None
    session_id: str | None = None
    step_id: str | None = None
    response_id: str | None = None
    rating: Rating | None = None
    score: Annotated[list[Score], BeforeValidator(_as_list), Field(max_length=MAX_TAGS)] = []
    comment: Comment = ""
    user: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200), null_is("")] = ""
    tags: Annotated[list[Name], Field(max_length=MAX_TAGS), null_is([])] = []


class FeedbackObject(WireOutput):
    """A stored feedback entry. ``user`` is its author; ``mine`` says that the caller may delete it."""

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
    """The stored entries: the rating with the comment, and each score. ``tags`` are all that the record now has."""

    data: list[FeedbackObject]
    tags: list[str]


class FeedbackList(WireOutput):
    """Feedback entries, newest first, or oldest first where that was asked for. ``query`` is that of the turns they
    are on, null where a record was named."""

    data: list[FeedbackObject]
    has_more: bool
    first_id: str | None
    last_id: str | None
    query: QueryEcho | None


class Tags(WireOutput):
    """The tags of a record, in order."""

    tags: list[str]
