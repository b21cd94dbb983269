"""Reads and changes sessions for OpenAI's Agents API: every session of the record is one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Sum

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, NotFound
from agents.base.models.changes import ChangeKind
from agents.base.models.terms import TermKind
from agents.base.store import changes, keyset, terms
from agents.base.store.cursors import direct_cursor
from agents.base.store.keyset import Bounds
from agents.base.store.sql import Select, VisibleRow, columns
from agents.base.store.writer import writer
from agents.base.timestamps import to_us, us_or_none
from agents.record.models.agents import Session
from agents.record.models.choices import LIVE, TurnStatus
from agents.record.models.forks import Fork
from agents.record.models.tags import SessionTag
from agents.record.models.turns import Turn
from agents.record.schemas.content import Usage
from agents.record.store import sessions, tags, turns

_COLUMNS = "id agent_id revision_id created_at updated_at metadata settings last_turn active_turn source"
_ROW = VisibleRow(Session, _COLUMNS)
_TOKENS = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session. Times are microseconds; ``settings`` are JSON."""

    key: int
    agent: int | None
    revision: int | None
    created_at: int
    updated_at: int
    metadata: Mapping[str, Any]
    settings: Mapping[str, Any]
    last_turn: int | None
    active_turn: int | None
    source: int


def key_of(public_id: str) -> int:
    """Return the key of a session's id. Raises NotFound."""
    key = ids.parse_spelled(ids.Kind.SESSION, public_id)
    if key is None:
        raise not_found(public_id)
    return key


def not_found(public_id: str) -> NotFound:
    return NotFound(f"Session '{public_id[:80]}' not found.")


def get(actor: Actor, public_id: str, action: Action = "read") -> StoredSession:
    """Return a session. Raises NotFound, also for one that the actor may not see."""
    row = of_key(actor, key_of(public_id), action)
    if row is None:
        raise not_found(public_id)
    return row


def of_key(actor: Actor, key: int, action: Action = "read") -> StoredSession | None:
    """Return the session of a key; None where the actor sees none."""
    row = _ROW.get(actor, key, action)
    if row is None:
        return None
    return _stored(*row)


def _stored(*row: Any) -> StoredSession:
    key, agent, revision, created, updated, metadata, settings, *others = row
    metadata = msgspec.json.decode(metadata) if isinstance(metadata, str | bytes) else metadata
    settings = msgspec.json.decode(settings) if settings else {}
    return StoredSession(key, agent, revision, created, updated, metadata or {}, settings, *others)


def page(
    actor: Actor, bounds: Bounds, agent: int | None, metadata: Mapping[str, str]
) -> tuple[list[StoredSession], bool]:
    """List sessions behind one of them, of an agent or with these pairs of metadata if given; tell whether there are
    more."""
    rows = Session.objects.visible_to(actor)
    if agent is not None:
        rows = rows.filter(agent_id=agent)
    for name, value in metadata.items():
        number = terms.find(TermKind.META, f"{name}={value}"[: terms.MAX_LENGTH])
        if number is None:
            return [], False
        rows = rows.filter(pk__in=SessionTag.objects.filter(term_id=number).values("session_id"))
    found, more = keyset.page(rows, bounds, *_COLUMNS.split())
    return [_stored(*row[:3], to_us(row[3]), to_us(row[4]), *row[5:]) for row in found], more


def usages_of(keys: Collection[int]) -> dict[int, Usage]:
    """Sum the tokens of the turns of these sessions. The caller has checked that they are visible."""
    rows = Turn.objects.unscoped("their sessions are visible").filter(session_id__in=keys).values_list("session_id")
    sums = rows.annotate(*(Sum(name) for name in _TOKENS)).order_by()
    return {key: _usage(tokens) for key, *tokens in sums}


_USAGE = (
    f"SELECT {', '.join(f'SUM({name})' for name in columns(Turn, ' '.join(_TOKENS)))} "  # noqa: S608 - names of ours
    f"FROM {Turn._meta.db_table} WHERE session_id = %s"
)


def usage_of(key: int) -> Usage:
    """Sum the tokens of the turns of a session. The caller has checked that it is visible."""
    with direct_cursor() as cursor:
        cursor.execute(_USAGE, [key])
        return _usage(cursor.fetchone())


def _usage(tokens: Sequence[Any]) -> Usage:
    totals: dict[str, Any] = {name: int(value or 0) for name, value in zip(_TOKENS, tokens, strict=True)}
    return Usage.model_construct(**totals)


@dataclass(frozen=True, slots=True)
class LastTurn:
    """The last turn of a session: its status, and its model."""

    status: TurnStatus
    model: str


def last_turns(rows: Iterable[StoredSession]) -> dict[int, LastTurn]:
    """Return the last turns of sessions by their own keys. The caller has checked that these are visible."""
    keys = [row.last_turn for row in rows if row.last_turn is not None]
    found = Turn.objects.unscoped("their sessions are visible").filter(pk__in=keys)
    states = list(found.values_list("pk", "status", "model_id"))
    names = terms.texts({model for _, _, model in states})
    return {key: LastTurn(TurnStatus(status), names[model]) for key, status, model in states}


# ------------------------------------------------------------------------------------------ changes


def update(row: StoredSession, metadata: Mapping[str, str] | None, settings: Mapping[str, Any] | None) -> None:
    """Replace a session's metadata, or its settings. The caller has checked the right to."""

    def job() -> None:
        rows = Session.objects.unscoped("checked by the caller").filter(pk=row.key)
        if metadata is not None:
            rows.update(metadata=dict(metadata))
            tags.index_session(row.key, metadata)
        if settings is not None:
            rows.update(settings=msgspec.json.encode(settings).decode() if settings else "")
        changes.note(ChangeKind.SESSION, row.key)

    writer.write(job)


def delete(actor: Actor, row: StoredSession) -> None:
    """Delete a session with its turns. Raises Conflict while one runs or waits."""
    state = turns.state(row.last_turn) if row.last_turn is not None else None
    if state is not None and (state[0] in LIVE or state[0] == TurnStatus.AWAITING_INPUT):
        raise Conflict("The session has a turn that is not over; cancel it first.", code="conflict_error")
    sessions.delete(actor, row.key)


# -------------------------------------------------------------------------------------------- turns


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """A turn's key, its number in the session, and the number of its next event."""

    key: int
    number: int
    next_seq: int
    is_over: bool


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn without what was said in it. Times are microseconds; ``error`` is JSON, empty where there is none."""

    key: int
    session: int
    agent: int | None
    status: str
    started_at: int
    completed_at: int | None
    error: str
    usage: Usage


_TURN = ("pk", "session_id", "agent_id", "status", "started_at", "completed_at", "body__error", *_TOKENS)


def turn_page(actor: Actor, session: int, bounds: Bounds) -> tuple[list[StoredTurn], bool]:
    """List the turns of a session behind one of them, without forks; tell whether there are more."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session).exclude(pk__in=forks(session))
    found, more = keyset.page(rows, bounds, *_TURN)
    return [_stored_turn(*row) for row in found], more


def turn(actor: Actor, session: int, public_id: str) -> StoredTurn:
    """Return a turn of a session. Raises NotFound, also for one that the actor may not see."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session, pk=turns.key_of(public_id))
    row = rows.values_list(*_TURN).first()
    if row is None:
        raise NotFound(f"Turn '{public_id[:80]}' not found.")
    return _stored_turn(*row)


def _stored_turn(*row: Any) -> StoredTurn:
    key, session, agent, status, started, completed, error, *tokens = row
    times = to_us(started), us_or_none(completed)
    return StoredTurn(key, session, agent, TurnStatus(status).label, *times, error, _usage(tokens))


def forks(session: int) -> Any:
    """Return the forks of a session, for a query: they stand beside its turns."""
    return Fork.all_objects.filter(session_id=session).values("turn_id")


_TURNS = f"session_id = %s AND id NOT IN (SELECT turn_id FROM {Fork._meta.db_table} WHERE session_id = %s)"  # noqa: S608 - a table of ours
_PLACE = "id number next_seq status"
_AFTER = Select(Turn, _PLACE, f"{_TURNS} AND number > %s ORDER BY number LIMIT 1")
_NEWEST = Select(Turn, _PLACE, f"{_TURNS} ORDER BY number DESC LIMIT 1")
_EXISTS = Select(Session, "id", "id = %s AND removed_at IS NULL")


def newest_turn(session: int) -> TurnPlace | None:
    """Return the newest turn of a session, without forks. The caller has checked that the session is visible."""
    row = _NEWEST.first(session, session)
    return _place(*row) if row else None


def _place(key: int, number: int, next_seq: int, status: int) -> TurnPlace:
    return TurnPlace(key, number, next_seq, status not in (*LIVE, TurnStatus.AWAITING_INPUT))


def next_turn(session: int, number: int) -> tuple[bool, TurnPlace | None]:
    """Tell whether a session is still there, and return its first turn after a number, without forks; None where there
    is none yet. The caller has checked that the session was visible."""
    row = _AFTER.first(session, session, number)
    return row is not None or _EXISTS.first(session) is not None, _place(*row) if row else None


def turn_of_step(actor: Actor, session: int, step: int) -> int | None:
    """Return the turn of a session's step; None where the actor sees none."""
    rows = Turn.objects.visible_to(actor).filter(session_id=session, steps__pk=step)
    turn: int | None = rows.values_list("pk", flat=True).first()
    return turn


def session_of_turn(actor: Actor, turn: int) -> int:
    """Return the session of a turn. Raises NotFound."""
    return turns.target(actor, turn, action="run").session
