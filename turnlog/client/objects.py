"""Objects of the API, as they are on the wire. A field of a newer server is kept, as an attribute that no type knows.

Durations are in milliseconds, costs in US dollars (``cost_usd``), times are aware datetimes in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")


class Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, populate_by_name=True)


class Failure(Model):
    """Why something failed: ``type`` for programs (``provider_error``, ``timeout``, …)."""

    type: str
    message: str = ""


class Tokens(Model):
    """Tokens of a row: None where a model was called, and nobody said how many it took."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cached_tokens: int | None = 0
    reasoning_tokens: int | None = 0
    total_tokens: int | None = 0


class Judged(Model):
    """How many rated it up and down, how many comments it has, the mean of each score by its name."""

    up: int = 0
    down: int = 0
    comments: int = 0
    scores: dict[str, float] = {}


class Row(Model):
    """What the rows of all levels have. ``input_preview`` and ``output_preview`` are beginnings."""

    id: str
    session_id: str | None = None
    session_name: str = ""
    status: str | None = None
    tags: list[str] = []
    started_at: datetime
    completed_at: datetime | None = None
    usage: Tokens = Tokens()
    error: Failure | None = None

    @property
    def error_message(self) -> str | None:
        return self.error.message if self.error else None

    def flat(self) -> dict[str, Any]:
        """The row as one level of columns: ``usage.total_tokens``, lists of texts as they are; without lists of
        objects and rows inside it."""
        columns: dict[str, Any] = {}
        for name, value in self.model_dump().items():
            if name in ("steps", "last_turn", "turn", "record"):
                continue
            if isinstance(value, Mapping) and name != "metadata":
                columns |= {f"{name}.{inner}": nested for inner, nested in value.items()}
            else:
                columns[name] = value
        return columns


class Turn(Row):
    """A turn: ``duration_ms`` is without ``waited_ms``, the time that it waited for a person or its client."""

    agent_id: str | None = None
    agent_name: str = ""
    caller_id: str | None = None
    stop_reason: str | None = None
    source: str = ""
    api: str = ""
    model: str = ""
    user: str | None = None
    metadata: dict[str, Any] = {}
    feedback: Judged = Judged()
    input_preview: str = ""
    output_preview: str = ""
    duration_ms: float | None = None
    waited_ms: float | None = None
    ttft_ms: float | None = None
    cost_usd: float | None = None
    steps: list[dict[str, Any]] = []


class WholeTurn(Turn):
    """A turn with all that was said and done: ``turn`` as the Agents API shows it, ``record`` all that is known."""

    turn: dict[str, Any]
    record: dict[str, Any]


class Step(Row):
    """An inference, a call of a tool, a shield, a retrieval; ``number`` is its place in its turn, from 0."""

    number: int
    turn_id: str
    agent_id: str | None = None
    agent_name: str = ""
    type: str
    kind: str = ""
    name: str = ""
    model: str = ""
    finish: str | None = None
    violation: bool = False
    feedback: Judged = Judged()
    input_preview: str = ""
    output_preview: str = ""
    duration_ms: float | None = None
    waited_ms: float | None = None
    ttft_ms: float | None = None
    cost_usd: float | None = None


class Session(Row):
    """A session: ``status`` is what became of its newest turn, ``last_turn``."""

    name: str = ""
    conversation_id: str = ""
    agent_id: str | None = None
    agent_name: str = ""
    metadata: dict[str, Any] = {}
    feedback: Judged = Judged()
    updated_at: datetime
    turn_count: int = 0
    item_count: int = 0
    cost_usd: float | None = None
    last_turn: Turn | None = None


class Response(Row):
    """A response of OpenAI's API, which is a leg of a turn."""

    number: int
    turn_id: str
    conversation_id: str = ""
    model: str = ""
    user: str | None = None
    input_preview: str = ""
    output_preview: str = ""
    duration_ms: float | None = None


class Page(Model, Generic[T]):
    """Some rows; ``next`` is for ``after=`` of the page behind this, None at the end. ``searched_to`` is there where
    the search ran out of time: what is older is on the next page."""

    items: list[T] = Field(alias="data")
    has_more: bool = False
    first_cursor: str | None = None
    last_cursor: str | None = None
    last_id: str | None = None
    searched_to: datetime | None = None

    @property
    def next(self) -> str | None:
        return (self.last_cursor or self.last_id) if self.has_more else None


class Percentiles(Model):
    """In milliseconds, of ``count`` rows; None where there are none."""

    count: int = 0
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


class Stats(Model):
    """Sums over all rows that match. ``cost_usd`` sums the known costs, ``cost_nano`` is the same, exactly, in
    billionths of a dollar; ``cost_unknown`` rows have none. ``failure_rate`` is of those that ended."""

    count: int = 0
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    live: int = 0
    failure_rate: float | None = None
    duration_ms: Percentiles = Percentiles()
    waited_ms: Percentiles = Percentiles()
    ttft_ms: Percentiles = Percentiles()
    tokens: Tokens = Tokens()
    cost_usd: float | None = None
    cost_nano: int = 0
    cost_unknown: int = 0


class Group(Model):
    """Rows that agree in fields; ``from_us`` is the beginning of one of time, in microseconds since 1970."""

    values: list[str | None]
    labels: list[str]
    from_us: int | None = None
    stats: Stats


class Numbers(Model):
    """Sums of all rows (``total``), and of ``groups`` of them, of which ``more`` were left out."""

    total: Stats = Field(alias="data")
    groups: list[Group] = []
    more: int = 0


class FacetValue(Model):
    """``value`` is what a query says behind the field's colon."""

    value: str
    label: str
    count: int


class Facet(Model):
    """How many rows have which value of a field, counted without the query's own condition on it."""

    field: str
    total: int
    values: list[FacetValue]
    absent: int = 0
    more: int = 0


class Facets(Model):
    items: list[Facet] = Field(alias="data")


class Bucket(Model):
    """Rows that began from ``from_us`` on and before ``to_us``, microseconds since 1970."""

    from_us: int
    to_us: int
    completed: int = 0
    failed: int = 0
    stopped: int = 0
    live: int = 0

    @property
    def begins_at(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.from_us)


class Histogram(Model):
    """``width`` is the length of a bucket in words."""

    buckets: list[Bucket] = Field(alias="data")
    width: str
    total: int


class Comparison(Model):
    """Two turns side by side; ``facts``, ``parameters``, ``texts`` and pairs of ``steps`` say what differs."""

    a: Turn
    b: Turn
    fork: str | None = None
    facts: list[dict[str, Any]] = []
    parameters: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    counts: dict[str, int] = {}


class TurnResult(Model):
    """A turn as the Agents API shows it; ``error`` says why it failed."""

    turn_id: str
    session_id: str
    status: str | None = None
    output_message: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = []
    error: dict[str, Any] | None = None


class Tags(Model):
    tags: list[str] = []


class Feedback(Model):
    """A rating with a comment, or a score (``name`` and ``value``)."""

    id: str
    turn_id: str | None = None
    session_id: str
    step_id: str | None = None
    rating: str | None = None
    score: dict[str, Any] | None = None
    comment: str = ""
    user: str = ""
    created_at: datetime
    mine: bool = False


class FeedbackAdded(Model):
    items: list[Feedback] = Field(alias="data")
    tags: list[str] = []


class Budget(Model):
    """A limit in US dollars, in tokens or in both, with what is spent of it now."""

    id: str
    name: str = ""
    period: str
    window_seconds: int | None = None
    usd: float | None = None
    tokens: int | None = None
    spent_usd: float | None = None
    spent_tokens: int | None = None
    is_reached: bool = False


class WebhookEndpoint(Model):
    """``signing_secret`` is told once: when the endpoint is made, and when its secret is rotated."""

    id: str
    name: str
    url: str
    event_types: list[str] = []
    enabled: bool = True
    disabled_reason: str | None = None
    created_at: datetime
    signing_secret: str | None = None


class Delivery(Model):
    """An event on its way to an endpoint, with its last attempt."""

    id: str
    event_id: str
    event_type: str
    status: str
    attempts: int = 0
    status_code: int | None = None
    answer: str = ""
    error: str | None = None
    created_at: datetime


class View(Model):
    """A saved view: a query ``q`` of a level (``turn``, ``session``, ``step``, ``response``)."""

    id: str
    name: str
    q: str = ""
    level: str
    columns: list[str] = []
    shared: bool = False
    mine: bool = False
    built_in: bool = False


class Views(Model):
    items: list[View] = Field(alias="data")
