"""One flat row of the logs, as the REST list, the page and the live stream all show it."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from agents.base.schemas.wire import AgentKey, SessionKey, StepKey, Timestamp, TurnKey, WireOutput
from agents.record.schemas.events import ErrorInfo, StepStatus, StepType, TurnStatus

T = TypeVar("T")


class StepMark(WireOutput):
    """A step in the strip of a row: ``offset_ms`` from the turn's start, waits included."""

    id: StepKey
    type: StepType
    kind: str = ""
    name: str
    status: StepStatus
    offset_ms: float
    duration_ms: float | None = None
    waited_ms: float | None = None
    violation: bool = False


class TokenCounts(WireOutput):
    """Tokens of a row: null where a model was called, and nobody said how many it took."""

    input_tokens: int | None = 0
    output_tokens: int | None = 0
    cached_tokens: int | None = 0
    reasoning_tokens: int | None = 0
    total_tokens: int | None = 0


class Counts(WireOutput):
    steps: int = 0
    tools: int = 0
    errors: int = 0
    violations: int = 0


class RowFeedback(WireOutput):
    """What people and programs said of a row itself: how many rated it up and down, how many comments there are, the
    mean of each score by its name."""

    up: int = 0
    down: int = 0
    comments: int = 0
    scores: dict[str, float] = {}


class TurnRow(WireOutput):
    """A turn in a list. ``duration_ms`` is without ``waited_ms``, the time that it waited for a person or its client,
    null where it never did; ``waiting_since`` is when it began to, while it waits. ``undecided``: it waits for somebody
    to decide what became of a call whose process was lost. ``caller_id`` is the turn that called it, as a sub-agent."""

    id: TurnKey
    agent_id: AgentKey | None
    agent_name: str
    session_id: SessionKey
    session_name: str
    caller_id: TurnKey | None = None
    status: TurnStatus
    undecided: bool = False
    stop_reason: str | None
    source: str
    api: str
    model: str
    user: str | None
    tags: list[str]
    metadata: dict[str, Any] = {}
    feedback: RowFeedback = RowFeedback()
    input_preview: str
    output_preview: str
    started_at: Timestamp
    completed_at: Timestamp | None
    waiting_since: Timestamp | None = None
    duration_ms: float | None
    waited_ms: float | None
    ttft_ms: float | None
    usage: TokenCounts
    cost_usd: float | None
    error: ErrorInfo | None
    steps: list[StepMark]
    counts: Counts


class StepRow(WireOutput):
    """A step in a list of its own: ``input_preview`` begins what it was given (a tool's arguments, what
    was searched), ``output_preview`` what came of it, or why it failed. ``duration_ms`` is without
    ``waited_ms``, and null for a call that did nothing but wait for a person or the client. ``answered_by`` is the user
    or API key that answered a call, approved or refused it, or decided about it. ``agent_id`` and ``agent_name`` are
    the agent that did it, in a turn that may be another's; the name is empty once that agent is deleted."""

    id: StepKey
    number: int
    turn_id: TurnKey
    session_id: SessionKey
    session_name: str
    agent_id: AgentKey | None
    agent_name: str
    type: StepType
    kind: str
    name: str
    status: StepStatus
    server_side: bool
    answered_by: str | None = None
    violation: bool
    model: str
    finish: str | None
    tags: list[str]
    feedback: RowFeedback = RowFeedback()
    input_preview: str
    output_preview: str
    started_at: Timestamp
    completed_at: Timestamp | None
    duration_ms: float | None
    waited_ms: float | None
    ttft_ms: float | None
    usage: TokenCounts
    cost_usd: float | None
    error: ErrorInfo | None


class SessionRow(WireOutput):
    """A session in a list: ``last_turn`` is its newest, ``status`` what became of that. ``conversation_id``
    is its id in OpenAI's API, ``caller_id`` the turn that called its first one, as a sub-agent."""

    id: SessionKey
    conversation_id: str
    name: str
    agent_id: AgentKey | None
    agent_name: str
    caller_id: TurnKey | None = None
    api: str
    source: str
    status: TurnStatus | None
    tags: list[str]
    metadata: dict[str, Any]
    feedback: RowFeedback = RowFeedback()
    started_at: Timestamp
    updated_at: Timestamp
    turn_count: int
    item_count: int
    usage: TokenCounts
    cost_usd: float | None
    last_turn: TurnRow | None


class ResponseRow(WireOutput):
    """A response of OpenAI's API in a list, ``incomplete`` where a limit cut it; what it belongs to, and
    what that turn asked and answered."""

    id: str
    number: int
    turn_id: TurnKey
    session_id: SessionKey
    conversation_id: str
    session_name: str
    status: TurnStatus | Literal["incomplete"]
    model: str
    user: str | None
    tags: list[str]
    input_preview: str
    output_preview: str
    started_at: Timestamp
    completed_at: Timestamp | None
    duration_ms: float | None
    usage: TokenCounts
    error: ErrorInfo | None
    steps: list[StepMark]


class QueryEcho(WireOutput):
    """The query as understood: normalised text, typed tree, a sentence for people."""

    text: str
    tree: Any
    sentence: str


class LogPage(WireOutput, Generic[T]):
    """``searched_to`` is there when letters in the middle of words were looked for and the time was over:
    what is older has not been searched; ``last_id`` goes on there. ``first_cursor`` and ``last_cursor`` are for
    ``before=`` and ``after=``: in the order of an amount they hold it, so that a row that changes meanwhile is no
    matter."""

    data: list[T]
    has_more: bool
    searched_to: Timestamp | None = None
    first_id: str | None
    last_id: str | None
    first_cursor: str | None = None
    last_cursor: str | None = None
    query: QueryEcho


class TurnPage(LogPage[TurnRow]):
    """Turns, newest first."""


class SessionLogPage(LogPage[SessionRow]):
    """Sessions, newest first."""


class StepLogPage(LogPage[StepRow]):
    """Steps, newest first."""


class ResponseLogPage(LogPage[ResponseRow]):
    """Responses of OpenAI's API, newest first."""
