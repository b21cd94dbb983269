"""One flat row of the logs, as the REST list, the page and the live stream all show it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from agents.schemas.base import AgentKey, Moment, Sent, SessionKey, StepKey, TurnKey
from agents.schemas.events import ErrorInfo, StepStatus, StepType, TurnStatus

T = TypeVar("T")


class StepMark(Sent):
    """A step in the strip of a row: ``offset_ms`` from the turn's start."""

    id: StepKey
    type: StepType
    kind: str = ""
    name: str
    status: StepStatus
    offset_ms: float
    duration_ms: float | None = None
    violation: bool = False


class TokenCounts(Sent):
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    total_tokens: int = 0


class Counts(Sent):
    steps: int = 0
    tools: int = 0
    errors: int = 0
    violations: int = 0


class TurnRow(Sent):
    id: TurnKey
    agent_id: AgentKey | None
    agent_name: str
    session_id: SessionKey
    session_name: str
    status: TurnStatus
    stop_reason: str | None
    source: str
    api: str
    model: str
    user: str | None
    tags: list[str]
    input_preview: str
    output_preview: str
    started_at: Moment
    completed_at: Moment | None
    duration_ms: float | None
    ttft_ms: float | None
    usage: TokenCounts
    cost_usd: float | None
    error: ErrorInfo | None
    steps: list[StepMark]
    counts: Counts


class QueryEcho(Sent):
    """The query as understood: normalised text, typed tree, a sentence for people."""

    text: str
    tree: Any
    sentence: str


class LogPage(Sent, Generic[T]):
    data: list[T]
    has_more: bool
    first_id: str | None
    last_id: str | None
    query: QueryEcho


class TurnPage(LogPage[TurnRow]):
    """Turns, newest first."""
