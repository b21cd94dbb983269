"""Opens turns, and resumes those that wait. Each does so with a new response.

It takes the session's lock by one conditional update in the writer, so that of any number of racing
requests exactly one wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.base import ids, log_context, tracing
from agents.base.access import Actor
from agents.base.errors import Conflict, InvalidRequest
from agents.base.models.changes import ChangeKind
from agents.base.store import changes, encoding
from agents.base.store.sql import Insert, Select, Update, columns, execute_later, execute_returning
from agents.base.store.writer import writer
from agents.record.models.agents import Session
from agents.record.models.choices import Source, TurnStatus
from agents.record.models.turns import Response, Turn, TurnBody
from agents.record.schemas.content import TurnMessage
from agents.record.schemas.events import Event, TurnResumed
from agents.record.schemas.items import input_items
from agents.record.schemas.search_documents import TurnTokens, turn_tokens
from agents.record.schemas.searchable_text import metadata_text
from agents.record.schemas.turn_body import BODY_COLUMNS, TurnBodyDraft, body_columns, input_text
from agents.record.store import (
    agent_calls,
    closing,
    forks,
    history,
    inputs,
    recorder,
    replay,
    retries,
    search,
    sessions,
    staging,
    tags,
    turn_rows,
)
from agents.record.store.agent_calls import NewCall
from agents.record.store.forks import NewFork
from agents.record.store.history import NewItem
from agents.record.store.new_responses import NewResponse, ResponseStart, add_response
from agents.record.store.recorder import TurnRef
from agents.record.store.retries import AlreadyRun, Retry
from agents.record.store.sessions import NewSession
from agents.record.store.totals import TurnTotals
from agents.record.store.turn_clock import TurnClock
from agents.record.store.turn_rows import TurnDraft, TurnState


@dataclass(frozen=True, slots=True)
class NewTurn:
    """The values of a new turn. ``request`` is this turn's own settings as JSON text (they hold over a
    resume). ``after`` is the response it continues, where that is not the session's last; such a turn
    takes no lock: it is a branch, and so is a ``fork``, which the session never continues. ``new_session``
    is its session, where that is created with it, and ``earlier_items`` the session's earlier history from
    elsewhere. ``inputs`` are messages that waited for an earlier turn, and that this one begins with. ``call`` is what
    the turn of a sub-agent answers."""

    key: int
    session: int
    agent: int | None
    revision: int | None
    model: str
    provider: str
    messages: Sequence[TurnMessage]
    request: str
    response: NewResponse
    queued: bool
    source: Source = Source.NATIVE
    end_user: str = ""
    await_days: int | None = None
    after: int | None = None
    fork: NewFork | None = None
    new_session: NewSession | None = None
    earlier_items: Sequence[NewItem] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[int] = ()
    call: NewCall | None = None


def busy(session: int) -> Conflict:
    """Return the error for a session in which a turn runs: it allows one at a time."""
    public_id = ids.public(ids.Kind.SESSION, session)
    return Conflict(f"Session '{public_id}' has a turn in progress.", code="conversation_locked")


# ------------------------------------------------------------------------------------------- opening


def open_turn(actor: Actor, new: NewTurn, opening: Sequence[Event], owner: str) -> tuple[TurnRef, int]:
    """Store a new turn with its first events and take its session's lock; returns its reference and
    the number of its first item. A turn of the session that waits for its client is closed as
    cancelled. Raises Conflict while another runs, AlreadyRun for a request that is run already, CallRefused for a call
    of a sub-agent that is one too many."""
    log_context.add(turn_id=ids.public(ids.Kind.TURN, new.key))
    prepared = _PreparedTurn.of(new, opening)
    if not prepared.staged:
        return writer.write(lambda: _open(actor, new, opening, owner, prepared))
    _refuse_repeat(new.response.retry)
    with staging.staged(actor, prepared.staged, new.key, prepared.items):
        return writer.write(lambda: _open(actor, new, opening, owner, prepared))


# locked: a removal either came before, and is seen here, or waits
_SESSION_COLUMNS = "last_turn turn_count item_count scope_id branched"
_SESSION = Select(Session, _SESSION_COLUMNS, "id = %s AND removed_at IS NULL", locks=True)
_ADD_TURN = Insert(Turn, turn_rows.COLUMNS)
_ADD_BODY = Insert(TurnBody, BODY_COLUMNS)


@dataclass(frozen=True, slots=True)
class _PreparedTurn:
    """The parts of a new turn that depend on no stored row, prepared outside the writer. ``body`` are columns of
    its row, ``request`` is (encoding, bytes), ``events`` are the first events as they are stored, ``staged``
    is the session whose items are written before its turn."""

    body: tuple[Any, ...]
    request: tuple[int, bytes]
    items: Sequence[NewItem]
    tokens: TurnTokens
    events: dict[int, bytes]
    staged: NewSession | None

    @classmethod
    def of(cls, new: NewTurn, opening: Sequence[Event]) -> _PreparedTurn:
        text = input_text(new.messages)
        position = tracing.current.get()
        parent = position.header if position else ""
        items = new.response.items
        if items is None:
            items = [NewItem(ids.new_key(), body) for body in input_items(new.messages)]
        return cls(
            body=body_columns(TurnBodyDraft(new.messages, new.request, new.metadata, traceparent=parent)),
            request=encoding.pack(new.response.body),
            items=items,
            tokens=turn_tokens(text, metadata_text(new.metadata)),
            events=replay.encode_events(opening),
            staged=new.new_session if not new.earlier_items and len(items) > staging.ITEMS_PER_JOB else None,
        )


def _open(
    actor: Actor, new: NewTurn, opening: Sequence[Event], owner: str, prepared: _PreparedTurn
) -> tuple[TurnRef, int]:
    _refuse_repeat(new.response.retry)
    inputs.take_keys(new.inputs)
    at = opening[0].at
    if prepared.staged:
        staging.show(new.session)
    elif new.new_session:
        sessions.add(actor, new.new_session)
    if new.earlier_items:
        history.put(new.session, 0, new.earlier_items)
    position = _find_position(new, at)
    _add_turn(actor, new, at, owner, position)
    tags.index_turn(new.key, new.metadata)
    _ADD_BODY.later(new.key, *prepared.body)
    if new.call is not None:
        agent_calls.add(new.key, new.call)
    items = prepared.items
    status = TurnStatus.QUEUED if new.queued else TurnStatus.IN_PROGRESS
    start = ResponseStart(1, opening[0].seq, at, 0, position.items, len(items), position.previous)
    add_response(new.key, new.response, status, start, prepared.request)
    if not prepared.staged:
        history.append(new.session, new.key, position.items, items)
    search.put_turns([(new.key, prepared.tokens)])
    change = Update(Session)
    change.set(turn_count=position.turns + 1, item_count=position.items + len(items), branched=position.branches)
    change.set(updated_at=at)
    if new.fork is None:
        change.set(last_turn=new.key)
    else:
        forks.add(new.key, new.session, new.fork)
    change.write_later("id", new.session)
    ref = TurnRef(new.key, new.session, new.await_days)
    recorder.begin(ref, opening, TurnClock(at), prepared.events)
    changes.note(ChangeKind.SESSION, new.session)
    return ref, position.items


@dataclass(frozen=True, slots=True)
class _SessionPosition:
    """The position of a new turn in its session: the turn and response it continues, and its numbers."""

    parent: int | None
    previous: int | None
    turns: int
    items: int
    scope: int
    branches: bool


def _find_position(new: NewTurn, at_us: int) -> _SessionPosition:
    if new.fork is not None:
        return _fork_position(new, new.fork)
    session = _session_row(new.session) if new.after is not None else _lock(new.session, new.key)
    last_turn, turns, items, scope, branched = session
    last = _LAST_RESPONSE.first(last_turn) if last_turn is not None else None
    previous = last[0] if last else None
    if new.after is None:
        if last_turn is not None and _cancel_waiting(last_turn, at_us):
            items = _session_row(new.session)[2]  # closing may have added items
        return _SessionPosition(last_turn, previous, turns, items, scope, bool(branched))
    parent = _TURN_OF.first(new.after)
    if parent is None:
        raise InvalidRequest("The previous response was deleted just now.", param="previous_response_id")
    moved_on = new.after != previous or parent[1] != items
    return _SessionPosition(parent[0], new.after, turns, items, scope, bool(branched) or moved_on)


def _fork_position(new: NewTurn, fork: NewFork) -> _SessionPosition:
    """Return the position of a fork: its source's, with numbers of its own."""
    _, turns, items, scope, branched = _session_row(new.session)
    position = forks.position_of(fork.source)
    return _SessionPosition(position.parent, position.previous, turns, items, scope, bool(branched))


def _session_row(session: int) -> tuple[Any, ...]:
    row = _SESSION.first(session)
    if row is None:
        raise _session_deleted()
    return row


def _session_deleted() -> InvalidRequest:
    return InvalidRequest("The session was deleted just now.", code="session_deleted")


_LAST_RESPONSE = Select(Response, "id", "turn_id = %s ORDER BY number DESC LIMIT 1")
_TURN_OF = Select(Response, "turn_id end_item", "id = %s")


_NEWEST = Select(Turn, "number", "session_id = %s ORDER BY number DESC LIMIT 1")


def _add_turn(actor: Actor, new: NewTurn, at: int, owner: str, position: _SessionPosition) -> None:
    newest = _NEWEST.first(new.session)
    draft = TurnDraft(
        key=new.key,
        session=new.session,
        number=newest[0] + 1 if newest else 0,  # not how many there are: some may have been deleted
        owner=actor.user_id,
        scope=position.scope,
        api=new.response.api,
        source=new.source,
        state=TurnState(TurnStatus.QUEUED if new.queued else TurnStatus.IN_PROGRESS, at),
        totals=TurnTotals(),
        agent=new.agent,
        revision=new.revision,
        parent=position.parent,
        model=new.model,
        provider=new.provider,
        user=new.end_user,
        actor_key=actor.key_id,
        lease_owner=owner,
    )
    _ADD_TURN.later(*turn_rows.turn_row(draft))


def _refuse_repeat(retry: Retry | None) -> None:
    """Raise AlreadyRun for a repeated request. It runs in the writer, one by one, and holds the request: of two at once
    only one passes, in whichever process."""
    if retry is None:
        return
    retries.hold(retry)
    first_run = retries.first_run(retry)
    if first_run:
        raise AlreadyRun(*first_run)


_LOCKED = ", ".join(columns(Session, f"removed_at {_SESSION_COLUMNS}"))
_LOCK = f"UPDATE agents_session SET active_turn = %s WHERE id = %s AND active_turn IS NULL RETURNING {_LOCKED}"  # noqa: S608 - columns of ours


def _lock(session: int, turn: int) -> tuple[Any, ...]:
    """Take the session's lock, and return the columns `_SESSION_COLUMNS` of it."""
    row = execute_returning(_LOCK, turn, session)
    if row is None:
        raise busy(session)
    removed_at, *position = row
    if removed_at is not None:
        raise _session_deleted()
    return tuple(position)


def _cancel_waiting(turn: int, at_us: int) -> bool:
    """Close the session's last turn if it waits for its client: a new message came."""
    if _STATUS.first(turn) != (TurnStatus.AWAITING_INPUT.value,):
        return False
    ending = closing.TurnEnding("cancelled", "a new message came", at_us=at_us)
    return closing.close_turn(turn, ending, statuses=closing.WAITING)


_STATUS = Select(Turn, "status", "id = %s")


# ------------------------------------------------------------------------------------------ resuming


@dataclass(frozen=True, slots=True)
class Resumption:
    """The values for resuming a turn. ``opening`` are the first events of the response, ``first_step`` the number
    of its first new step; ``waiting`` and ``epoch`` are the turn's state when the request was read."""

    turn: int
    session: int
    epoch: int
    opening: Sequence[Event]
    first_step: int
    waiting: bool
    response: NewResponse


_ANSWERED = "UPDATE agents_response SET status = %s WHERE turn_id = %s AND status = %s"


def resume_turn(resumption: Resumption, owner: str) -> TurnRef:
    """Continue a turn with its client's answers and take the session's lock. Raises Conflict when
    someone else was first, AlreadyRun for a request that is run already."""
    log_context.add(turn_id=ids.public(ids.Kind.TURN, resumption.turn))
    request, events = encoding.pack(resumption.response.body), replay.encode_events(resumption.opening)
    return writer.write(lambda: _resume(resumption, owner, request, events))


def _resume(resumption: Resumption, owner: str, request: tuple[int, bytes], events: dict[int, bytes]) -> TurnRef:
    key, opening = resumption.turn, resumption.opening[0]
    assert isinstance(opening, TurnResumed)  # a resume opens so
    ref = TurnRef(key, resumption.session, epoch=resumption.epoch + 1)
    _refuse_repeat(resumption.response.retry)
    items = _lock(resumption.session, key)[2]
    status, since = (
        (TurnStatus.AWAITING_INPUT, "waiting_at") if resumption.waiting else (TurnStatus.COMPLETED, "completed_at")
    )
    values = TurnStatus.IN_PROGRESS.value, opening.leg, owner, ref.epoch
    place = key, status.value, opening.seq, resumption.epoch
    times = execute_returning(_GO_ON.format(since=since), *values, *place)
    if times is None:
        raise _resume_lost(key)
    if not resumption.waiting:
        replay.reopen(key)
    # the waiting response was answered: in OpenAI's API it is then completed
    execute_later(_ANSWERED, TurnStatus.COMPLETED.value, key, TurnStatus.AWAITING_INPUT.value)
    input_items = len(opening.tool_responses) + len(opening.input_messages)
    last = _LAST_RESPONSE.first(key)
    start = ResponseStart(
        opening.leg, opening.seq, opening.at, resumption.first_step, items, input_items, last[0] if last else None
    )
    add_response(key, resumption.response, TurnStatus.IN_PROGRESS, start, request)
    recorder.begin(ref, resumption.opening, TurnClock(*times), events)
    return ref


_GO_ON = (
    "UPDATE agents_turn SET status = %s, leg_count = %s, expires_at = NULL, completed_at = NULL, "
    "waiting_at = {since}, lease_owner = %s, lease_epoch = %s "
    "WHERE id = %s AND status = %s AND next_seq = %s AND lease_epoch = %s "
    "RETURNING started_at, waited_us, waiting_at"
)
_UNMOVED = Select(Turn, "id", "id = %s AND next_seq = %s")


def check_unmoved(key: int, next_seq: int) -> None:
    """Raise Conflict when a turn has changed since its target was read: other rows that were read since may be newer,
    and an error that follows from them would be wrong."""
    if _UNMOVED.first(key, next_seq) is None:
        raise _resume_lost(key)


def _resume_lost(key: int) -> Conflict:
    return Conflict(f"Turn '{ids.public(ids.Kind.TURN, key)}' was resumed by someone else.", code="resume_lost")
