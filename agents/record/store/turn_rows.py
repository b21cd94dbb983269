"""Describes a stored turn: the columns of its row and of its body, and how drafts of plain values become these.

The store makes a draft of a new turn, the projection makes one of a report; only here a draft becomes a row.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agents.base.models.terms import TermKind
from agents.base.store import terms
from agents.record.models.choices import Api, Source, TurnStatus
from agents.record.schemas.events import ErrorInfo
from agents.record.store import totals
from agents.record.store.step_rows import error_terms
from agents.record.store.totals import TurnTotals
from agents.record.store.turn_clock import TurnClock

STATE_COLUMNS = "status stop_reason completed_at duration_us waited_us error_type_id error_message_id"
COLUMNS = (
    "id session_id agent_id revision_id parent_id number owner_id scope_id api source model_id provider_id end_user_id "
    f"started_at {STATE_COLUMNS} {totals.TURN_COLUMNS} iterations leg_count next_seq actor_key lease_owner "
    "foreign_id"
)


class TurnState(msgspec.Struct, frozen=True):
    """The progress of a turn. Times are microseconds; ``ended_us`` is None while it goes on, ``waited_us`` where it
    never waited for a person or its client."""

    status: TurnStatus
    started_us: int
    ended_us: int | None = None
    stop_reason: str = ""
    error: ErrorInfo | None = None
    waited_us: int | None = None


class TurnDraft(msgspec.Struct, frozen=True):
    """A turn that is to be stored. ``foreign_id`` is a sender's id, ``lease_owner`` the process that runs it."""

    key: int
    session: int
    number: int
    owner: int | None
    scope: int
    api: Api
    source: Source
    state: TurnState
    totals: TurnTotals
    agent: int | None = None
    revision: int | None = None
    parent: int | None = None
    model: str = ""
    provider: str = ""
    user: str = ""
    iterations: int = 0
    actor_key: int | None = None
    lease_owner: str = ""
    foreign_id: str | None = None


def turn_row(draft: TurnDraft) -> tuple[Any, ...]:
    """Build the columns `COLUMNS`."""
    identity = (draft.key, draft.session, draft.agent, draft.revision, draft.parent, draft.number)
    kind = (draft.owner, draft.scope, draft.api.value, draft.source.value)
    names = (
        terms.intern(TermKind.MODEL, draft.model),
        terms.intern(TermKind.PROVIDER, draft.provider),
        terms.intern(TermKind.END_USER, draft.user),
    )
    sums = (*draft.totals.columns(), draft.iterations, 1, 0)
    started = draft.state.started_us
    run = (draft.actor_key, draft.lease_owner)
    return (*identity, *kind, *names, started, *state_columns(draft.state), *sums, *run, draft.foreign_id)


def state_columns(state: TurnState) -> tuple[Any, ...]:
    """Build the columns `STATE_COLUMNS`."""
    ended = state.ended_us
    duration = None if ended is None else TurnClock(state.started_us, state.waited_us).worked_us(ended)
    return state.status.value, state.stop_reason[:32], ended, duration, state.waited_us, *error_terms(state.error)
