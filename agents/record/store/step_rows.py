"""Describes a stored step: its columns, and how a draft of plain values becomes its rows.

The recorder makes drafts of events, the projection makes them of reports; only here a draft becomes a row.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import StepStatus, StepType
from agents.record.schemas.content import Usage
from agents.record.schemas.events import ErrorInfo
from agents.record.schemas.step_content import StepNature
from agents.record.store import error_messages

OUTCOME_COLUMNS = (
    "status completed_at duration_us waited_us ttft_us violation error_type_id error_message_id kind_id finish_id "
    "input_tokens output_tokens cached_tokens reasoning_tokens cost_nano price_id"
)
COLUMNS = (
    f"id turn_id number parent_id round type tool_id model_id name server_side started_at {OUTCOME_COLUMNS} foreign_id "
    "agent_id"
)
DETAIL_COLUMNS = "step_id encoding body error"
TYPES = {choice.label: choice.value for choice in StepType}
_STATUSES = {choice.label: choice.value for choice in StepStatus}

Cost = tuple[int | None, int | None]
"""Billionths of a dollar, and the price's id: None while unknown."""
UNKNOWN_COST: Cost = (None, None)


class StepOutcome(msgspec.Struct, frozen=True):
    """The outcome of a step that has ended. Times are microseconds; ``status`` is a label of `StepStatus`.
    ``waited_us`` is for how long it waited for a person or the client."""

    status: str
    started_us: int
    ended_us: int
    nature: StepNature
    ttft_us: int | None = None
    usage: Usage | None = None
    error: ErrorInfo | None = None
    cost: Cost = UNKNOWN_COST
    waited_us: int | None = None

    @property
    def worked_us(self) -> int | None:
        """Return how long it took without its wait; None for a step that did nothing but wait."""
        took = max(self.ended_us - self.started_us, 0)
        return None if self.waited_us and self.waited_us >= took else took - (self.waited_us or 0)


class StepDraft(msgspec.Struct, frozen=True):
    """A step that is to be stored. ``type`` and ``status`` are labels of `StepType` and `StepStatus`; ``outcome`` is
    None while the step goes on. ``parent`` is the key of the step it lies in, ``foreign_id`` a sender's id. ``agent``
    is the agent that does it, None for that of its turn."""

    key: int
    turn: int
    number: int
    type: str
    name: str
    started_us: int
    model: str
    round: int = 0
    server_side: bool = False
    status: str = "in_progress"
    outcome: StepOutcome | None = None
    parent: int | None = None
    foreign_id: str | None = None
    agent: int | None = None


def step_row(draft: StepDraft) -> tuple[Any, ...]:
    """Build the columns `COLUMNS`."""
    type_ = TYPES[draft.type]
    tool = terms.intern(TermKind.TOOL, draft.name) if type_ == StepType.TOOL_EXECUTION else None
    model = terms.intern(TermKind.MODEL, draft.model) if type_ == StepType.INFERENCE else None
    identity = (draft.key, draft.turn, draft.number, draft.parent, draft.round)
    outcome = outcome_columns(draft.outcome) if draft.outcome else (_STATUSES[draft.status], *_NO_OUTCOME)
    return (
        *identity,
        type_,
        tool,
        model,
        draft.name[:300],
        draft.server_side,
        draft.started_us,
        *outcome,
        draft.foreign_id,
        draft.agent,
    )


_NO_OUTCOME = (None, None, None, None, False, None, None, None, None, 0, 0, 0, 0, None, None)
"""The columns after ``status`` of a step that goes on."""
_NO_USAGE = Usage()


def outcome_columns(outcome: StepOutcome) -> tuple[Any, ...]:
    """Build the columns `OUTCOME_COLUMNS`."""
    nature, usage = outcome.nature, outcome.usage or _NO_USAGE
    return (
        _STATUSES[outcome.status],
        outcome.ended_us,
        outcome.worked_us,
        outcome.waited_us,
        outcome.ttft_us,
        nature.violates,
        *error_terms(outcome.error),
        terms.intern(TermKind.STEP_KIND, nature.kind),
        terms.intern(TermKind.FINISH, nature.finish),
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        *outcome.cost,
    )


def error_terms(error: ErrorInfo | None) -> tuple[int | None, int | None]:
    """Return the interned type of an error, and what its message has in common with others of its kind."""
    if error is None:
        return None, None
    message = error_messages.alike(error.message)
    return terms.intern(TermKind.ERROR, error.type), terms.intern(TermKind.ERROR_MESSAGE, message)
