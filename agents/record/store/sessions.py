"""Sessions: create, read, list, delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, scopes
from agents.base.store.sql import Insert, Select, VisibleRow
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, to_us
from agents.base.tokenizer import fold
from agents.record.models.agents import Session
from agents.record.models.choices import EXTERNAL, Api, Source
from agents.record.store import agent_calls, agents, tags
from agents.record.store.removal import remove_sessions

DAY_US = 86_400_000_000
RETENTION_US = DAY_US
"""How long a session without persistence is kept."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    key: int
    agent: int | None
    name: str
    created_at: int
    updated_at: int
    turn_count: int
    input_tokens: int
    output_tokens: int
    cost_nano: int | None
    active_turn: int | None
    last_turn: int | None
    source: int = Source.NATIVE
    api: int = Api.AGENTS
    revision: int | None = None

    @property
    def is_external(self) -> bool:
        """Tell whether its agent runs elsewhere."""
        return self.source in EXTERNAL

    @property
    def public_id(self) -> str:
        return ids.public(ids.Kind.SESSION, self.key)


_COLUMNS = (
    "id agent_id name created_at updated_at turn_count input_tokens output_tokens cost_nano active_turn last_turn "
    "source api revision_id"
)
_ROW = VisibleRow(Session, _COLUMNS)


def _record(row: tuple[Any, ...]) -> SessionRecord:
    key, agent, name, created, updated, *other = row
    return SessionRecord(key, agent, name, to_us(created), to_us(updated), *other)


_ADD = Insert(
    Session,
    "id agent_id name owner_id scope_id api source created_at updated_at expires_at turn_count item_count branched "
    "input_tokens output_tokens metadata folded revision_id settings",
)


def key_of(public_id: str) -> int:
    """Return the key of a session's public id. Raises NotFound."""
    key = ids.parse_spelled(ids.Kind.SESSION, public_id)
    if key is None:
        raise _not_found(public_id[:80])
    return key


def _not_found(public_id: str) -> NotFound:
    return NotFound(f"Session '{public_id}' not found.")


MAX_NAME_CHARS = 60


def name_of(text: str) -> str:
    """Return the name of a session that begins with this text: its first characters, on one line."""
    return " ".join(text[: 4 * MAX_NAME_CHARS].split())[:MAX_NAME_CHARS]


def create(
    actor: Actor,
    *,
    agent: int | None,
    name: str,
    persist: bool = True,
    api: Api = Api.AGENTS,
    source: Source = Source.NATIVE,
) -> int:
    """Store a new session; returns its key. Without ``persist`` it may be deleted after a day."""
    new = NewSession(ids.new_key(), agent, name, persist, api, source)
    writer.write(lambda: add(actor, new))
    return new.key


@dataclass(frozen=True, slots=True)
class NewSession:
    """The values of a new session. One that is not ``persistent`` may be deleted after a day. ``revision`` is the
    configuration that its turns run with, ``settings`` what OpenAI's Agents API repeats of it, as JSON. It is seen by
    whoever sees the session ``beside`` it, and is kept as long as that."""

    key: int
    agent: int | None = None
    name: str = ""
    persistent: bool = True
    api: Api = Api.AGENTS
    source: Source = Source.NATIVE
    metadata: str = "{}"
    revision: int | None = None
    settings: str = ""
    beside: int | None = None


_BESIDE = Select(Session, "scope_id expires_at", "id = %s")


def add(actor: Actor, new: NewSession) -> None:
    """Store a session in the caller's transaction."""
    now = ids.now_us()
    expires_at = None if new.persistent else now + RETENTION_US
    beside = _BESIDE.first(new.beside) if new.beside is not None else None
    scope, expires_at = beside or (scopes.scope_for(actor), expires_at)
    head = (new.key, new.agent, new.name, actor.user_id, scope, new.api.value, new.source.value)
    _ADD.later(*head, now, now, expires_at, 0, 0, False, 0, 0, new.metadata, fold(new.name), new.revision, new.settings)
    if new.metadata != "{}":
        tags.index_session(new.key, msgspec.json.decode(new.metadata))
    changes.note(ChangeKind.SESSION, new.key)


def get(actor: Actor, key: int, *, agent: int | None = None, action: Action = "read") -> SessionRecord:
    """Return a session, of this agent if one is named. Raises NotFound, also for one the actor may not see."""
    row = _ROW.get(actor, key, action)
    if row is None or agent not in (None, row[1]):
        raise _not_found(ids.public(ids.Kind.SESSION, key))
    return SessionRecord(*row)


def check_here(source: int) -> None:
    """Raise InvalidRequest for the source of a conversation that runs elsewhere."""
    if source in EXTERNAL:
        message = "This conversation runs elsewhere: what is said in it is reported here; go on with it there."
        raise InvalidRequest(message, code="foreign")


def listing(
    actor: Actor, *, agent: int | None = None, start: int = 0, limit: int = 100
) -> tuple[list[SessionRecord], bool]:
    """List sessions, newest first, and tell whether there are more."""
    rows = Session.objects.visible_to(actor).order_by("-id")
    if agent is not None:
        rows = rows.filter(agent_id=agent)
    records = [_record(row) for row in rows.values_list(*_COLUMNS.split())[start : start + limit + 1]]
    return records[:limit], len(records) > limit


def delete(actor: Actor, key: int, *, agent: int | None = None) -> None:
    """Delete a session with all its turns, and what sub-agents have done for them. Raises NotFound; Conflict while a
    turn of it runs."""
    get(actor, key, agent=agent, action="run")
    rows = Session.objects.unscoped("delete").filter(pk__in=agent_calls.with_sessions_below([key])).exclude(agent=None)
    used = set(rows.values_list("agent_id", flat=True))
    remove_sessions([key])
    for key_of_agent in used:
        agents.remove_unused(key_of_agent)


def expire(now_us: int) -> int:
    """Delete expired sessions; returns how many."""
    rows = Session.objects.unscoped("retention").filter(expires_at__lt=to_datetime(now_us), active_turn=None)
    keys = list(rows.filter(removed_at=None).values_list("pk", flat=True)[:100])
    remove_sessions(keys)
    return len(keys)
