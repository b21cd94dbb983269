"""Complete turns, as our exports write them and our import reads them back.

Ids are those of the exporting server; elsewhere they only tell whether two records are of the same session or step,
for many sessions may have one name. Times are ISO-8601 in UTC. The type of a step determines its ``detail``
(`agents.record.schemas.events.DETAILS`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agents.base.schemas.wire import Timestamp, Wire
from agents.record.schemas.content import MAX_TOKENS, CompletionMessage, TurnMessage, Usage
from agents.record.schemas.events import ErrorInfo, StepStatus, StepType, TurnStatus

VERSION: Literal[1] = 1

Id = Annotated[str, Field(min_length=1, max_length=128)]
Past = Annotated[Timestamp, Field(ge=0, le=253_402_300_799_000_000)]
"""A timestamp of the years 1970 to 9999."""
Count = Annotated[int, Field(ge=0, le=2**53)]
Micros = Annotated[int, Field(ge=0, lt=2**63)]
Tokens = Annotated[int, Field(ge=0, le=MAX_TOKENS)]
Cost = Annotated[int, Field(ge=0, le=10_000 * 10**9)]
"""At most what `agents.telemetry.reading` takes for the price of a call."""


class AgentNamed(Wire):
    """``instructions`` only where the reader may see the agent."""

    name: str = ""
    model: str = ""
    instructions: str = ""


class SessionNamed(Wire):
    id: Id
    name: str = ""


class Spent(Usage):
    """What an inference used, bounded."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cached_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0


class StepRecord(Wire):
    """``usage`` and ``cost_nano`` (billionths of a dollar) are there only where the step itself spent them; ``parent``
    is the id of the step it was done in, ``waited_us`` how long it waited for somebody, ``agent`` the name of the agent
    that did it, empty for that of the turn. ``model`` is the one that an inference is listed under, None in exports of
    earlier versions."""

    id: Id
    number: Count = 0
    round: Count = 0
    type: StepType
    name: str = ""
    status: StepStatus
    server_side: bool = True
    started_at: Past
    completed_at: Past | None = None
    ttft_us: Micros | None = None
    waited_us: Micros | None = None
    model: str | None = None
    usage: Spent | None = None
    cost_nano: Cost | None = None
    parent: str = ""
    agent: str = ""
    error: ErrorInfo | None = None
    detail: dict[str, Any] | None = None


class FeedbackRecord(Wire):
    """One entry of feedback on the turn, or on its step of the id ``step``."""

    id: Id
    step: str = ""
    rating: Literal["up", "down"] | None = None
    name: str = ""
    value: float | None = None
    comment: str = ""
    author: str = ""
    created_at: Past
    updated_at: Past


class TurnRecord(Wire):
    """``traceparent`` is that of the request which began it. ``foreign`` is what was said of it when it was taken in
    from elsewhere: ``warnings``, ``agents``, ``hidden``."""

    version: Literal[1]
    id: Id
    session: SessionNamed
    agent: AgentNamed = AgentNamed()
    status: TurnStatus
    stop_reason: str = ""
    source: str = ""
    api: str = ""
    started_at: Past
    completed_at: Past | None = None
    waited_us: Micros | None = None
    model: str = ""
    provider: str = ""
    user: str = ""
    traceparent: str = ""
    tags: list[str] = []
    metadata: dict[str, Any] = {}
    input: list[TurnMessage] = []
    output: CompletionMessage | None = None
    error: ErrorInfo | None = None
    foreign: dict[str, Any] = {}
    feedback: list[FeedbackRecord] = []
    steps: list[StepRecord] = []
