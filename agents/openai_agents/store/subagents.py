"""Reads the sub-agents of a session for OpenAI's Agents API: each turn that was called below its turns is one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import NotFound
from agents.base.store import keyset
from agents.base.store.keyset import Bounds
from agents.base.timestamps import to_us, us_or_none
from agents.record.models.agent_calls import AgentCall
from agents.record.models.choices import LIVE
from agents.record.models.turns import Turn
from agents.record.schemas.content import text_of
from agents.record.schemas.turns import MESSAGES


@dataclass(frozen=True, slots=True)
class StoredSubagent:
    """A sub-agent: its first turn, and its own ``session``. ``parent`` is the turn that called it, which a sub-agent
    did where that is not of the session it is shown in. Times are microseconds."""

    turn: int
    session: int
    parent: int | None
    parent_session: int | None
    name: str
    task: str
    opened_at: int
    closed_at: int | None


_COLUMNS = (
    *("pk", "turn__session_id", "parent_id", "parent__session_id", "turn__agent__name", "turn__body__input_messages"),
    *("turn__started_at", "turn__completed_at", "turn__status"),
)


def page(actor: Actor, session: int, bounds: Bounds) -> tuple[list[StoredSubagent], bool]:
    """List the sub-agents of a session behind one of them; tell whether there are more."""
    rows, more = keyset.page(_rows(actor, session), bounds, *_COLUMNS)
    return [_subagent(*row) for row in rows], more


def get(actor: Actor, session: int, public_id: str) -> StoredSubagent:
    """Return a sub-agent of a session. Raises NotFound, also for one that the actor may not see."""
    key = ids.parse_part(ids.Kind.TURN, public_id)
    row = _rows(actor, session).filter(pk=key).values_list(*_COLUMNS).first() if key is not None else None
    if row is None:
        raise NotFound(f"Subagent '{public_id[:80]}' not found.")
    return _subagent(*row)


def states(turn: int) -> dict[int, bool]:
    """Return the turns that were called below a turn, the oldest first, each with whether it is over. The caller has
    checked that the turn is visible."""
    rows = AgentCall.objects.unscoped("below a visible turn").filter(Q(root_id=turn) | Q(parent_id=turn))
    columns = rows.order_by("pk").values_list("pk", "turn__status", "turn__completed_at")
    return {key: status not in LIVE and completed is not None for key, status, completed in columns}


def of_turns(actor: Actor, turns: Collection[int]) -> list[StoredSubagent]:
    """Return the sub-agents whose turns these are and which the actor sees, the oldest first."""
    if not turns:
        return []
    rows = AgentCall.objects.visible_to(actor).filter(pk__in=turns).order_by("pk")
    return [_subagent(*row) for row in rows.values_list(*_COLUMNS)]


def _rows(actor: Actor, session: int) -> Any:
    """Return the calls below a session's turns; for a session of a sub-agent, those that it made itself."""
    turns = Turn.objects.unscoped("their session is visible").filter(session_id=session).values("pk")
    return AgentCall.objects.visible_to(actor).filter(Q(root_id__in=turns) | Q(parent__session_id=session))


def _subagent(*row: Any) -> StoredSubagent:
    turn, session, parent, parent_session, name, messages, started, completed, status = row
    task = "\n".join(text_of(message.content) for message in MESSAGES.validate_json(messages))
    closed = None if status in LIVE else us_or_none(completed)
    return StoredSubagent(turn, session, parent, parent_session, name or "", task, to_us(started), closed)
