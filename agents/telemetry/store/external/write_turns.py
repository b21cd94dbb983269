"""Writes external turns, again whenever more of them is reported, under the keys they got first. All turns of a pass
are written together, table by table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.claims import ClaimKind, lock_to_the_end
from agents.base.store.sql import Insert, SelectAmong, execute_many
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.schemas.turn_body import BODY_COLUMNS
from agents.record.store import provisional_agents, search, tags, turn_rows, write_steps
from agents.record.store.feedback_hooks import JudgedTurn, hooks
from agents.record.store.totals import SHARE_COLUMNS, SessionTotals, TurnTotals
from agents.record.store.write_steps import StepPlan
from agents.telemetry.reading.prepared_turns import PreparedTurn
from agents.telemetry.store.external import step_drafts, turn_drafts, turn_order, waits
from agents.telemetry.store.external.find_or_create import AgentKeys, SessionDraft, SessionDrafts
from agents.telemetry.store.external.owners import Owner, external_id, session_mark
from agents.telemetry.store.external.step_drafts import PlannedSteps

_PUT = Insert(Turn, turn_rows.COLUMNS, replace="id", keep="parent_id")
_PUT_BODY = Insert(TurnBody, BODY_COLUMNS, replace="turn_id")
_STORED = SelectAmong(
    Turn,
    f"foreign_id id session_id agent_id number started_at {SHARE_COLUMNS}",
    "foreign_id",
    "owner_id = %s AND scope_id = %s",
)
_MOVE_SESSION = (
    "UPDATE agents_session SET agent_id = %s WHERE id = %s AND agent_id = %s AND NOT EXISTS "
    "(SELECT 1 FROM agents_turn WHERE agents_turn.session_id = agents_session.id AND agents_turn.agent_id = %s)"
)
"""Gives a session to the agent that its turn has moved to, if it has no turn of the other."""
_STEPS = SelectAmong(Step, "foreign_id id", "foreign_id", "turn_id = %s")


@dataclass(frozen=True, slots=True)
class _StoredTurn:
    """The stored columns of a turn that an update needs."""

    key: int
    session: int
    agent: int | None
    number: int
    started_us: int
    totals: SessionTotals


_NOTHING = SessionTotals()
NO_STEPS = StepPlan({}, {}, {})


# ------------------------------------------------------------------------------------------- storing


@dataclass(frozen=True, slots=True)
class _TurnWrite:
    """A turn that is to be written, with its agent, session and number."""

    key: int
    turn: PreparedTurn
    stored: _StoredTurn | None
    agent: int
    session: SessionDraft
    number: int
    steps: PlannedSteps


def write(
    owner: Owner, turns: Sequence[PreparedTurn], totals: Mapping[str, TurnTotals] = MappingProxyType({})
) -> list[int]:
    """Store turns, each of another id, within the caller's transaction; returns their keys in order. Of turns whose
    steps are stored already ``totals`` are the sums of these, by the ids of the turns."""
    session_ids = [turn.session for turn in turns]
    # each gets the next number of its session, and may be the first one of it: no other process may write to it
    lock_to_the_end(ClaimKind.SESSION, {session_mark(owner, external_id(name)) for name in session_ids})
    agents, sessions = AgentKeys(owner), SessionDrafts(owner, session_ids)
    for turn in turns:  # before another one has it as a sub-agent, whose instructions it does not know
        agents.of_turn(turn)
    stored = _stored(owner, [external_id(turn.id) for turn in turns])
    drafts = [_draft(turn, stored.get(external_id(turn.id)), agents, sessions, totals.get(turn.id)) for turn in turns]
    for draft in sorted(drafts, key=lambda draft: draft.key):
        agents.learn(draft.turn, draft.key)
    sessions.write()
    _PUT.execute_many(_row(owner, draft) for draft in drafts)
    _PUT_BODY.execute_many((draft.key, *draft.turn.body) for draft in drafts)
    write_steps.replace([draft.steps.plan for draft in drafts])
    _index(drafts)
    _renumber_sessions(drafts, sessions)
    _leave_agents(drafts, agents)
    _put_feedback(owner, drafts)
    return [draft.key for draft in drafts]


def _put_feedback(owner: Owner, drafts: Sequence[_TurnWrite]) -> None:
    """Store what was reported of the turns, on those of their steps that it names."""
    for draft in drafts:
        entries = draft.turn.feedback
        if entries:
            named = sorted({external_id(entry.step) for entry in entries if entry.step})
            keys = dict(_STEPS.all(named, draft.key)) if named else {}
            steps = {entry.step: keys[external_id(entry.step)] for entry in entries if external_id(entry.step) in keys}
            hooks.put(JudgedTurn(draft.key, draft.session.key, owner.user, entries, steps))


def key_of(owner: Owner, name: str) -> int | None:
    """The key of a stored turn, by the sender's id as it is stored."""
    stored = _stored(owner, [name]).get(name)
    return stored.key if stored else None


def _stored(owner: Owner, names: Sequence[str]) -> dict[str, _StoredTurn]:
    rows = _STORED.all(names, owner.user, owner.scope)
    return {
        name: _StoredTurn(key, session, agent, number, started, SessionTotals(0, *share))
        for name, key, session, agent, number, started, *share in rows
    }


def _draft(
    turn: PreparedTurn,
    stored: _StoredTurn | None,
    agents: AgentKeys,
    sessions: SessionDrafts,
    stored_totals: TurnTotals | None,
) -> _TurnWrite:
    for name in turn.agents:
        agents.find_or_create(name, turn)
    agent = agents.of_turn(turn)
    session = sessions.draft_of(turn, agent)
    key = stored.key if stored else ids.new_key(turn.started_us)
    if stored_totals is not None:
        steps = PlannedSteps(NO_STEPS, stored_totals)
    else:
        others = agents.of_others(turn.steps, turn)
        steps = step_drafts.plan_steps(key, turn, others, is_new=stored is None)
    number = _number_in_session(session, key, turn, stored)
    before = stored.totals if stored and stored.session == session.key else _NOTHING
    _add_to_session(session, turn, steps.totals, before)
    return _TurnWrite(key, turn, stored, agent, session, number, steps)


def _number_in_session(session: SessionDraft, key: int, turn: PreparedTurn, stored: _StoredTurn | None) -> int:
    """The turn's number in its session, until the session is renumbered."""
    if stored and stored.session == session.key:
        session.needs_renumbering |= stored.started_us != turn.started_us
        return stored.number
    number = turn_order.next_number(session)
    session.joined.append(key)
    session.totals.turn_count += 1
    session.needs_renumbering |= stored is not None
    return number


def _add_to_session(session: SessionDraft, turn: PreparedTurn, totals: TurnTotals, stored: SessionTotals) -> None:
    """Add the difference between a turn's sums and the stored ones to its session."""
    session.totals.add(SessionTotals.of(totals))
    session.totals.add(stored, -1)
    session.extend(turn.started_us, turn.ended_us or turn.started_us)


def _row(owner: Owner, draft: _TurnWrite) -> Sequence[object]:
    keys = (draft.key, draft.session.key, draft.agent, draft.number)
    return turn_rows.turn_row(turn_drafts.turn_draft(owner, draft.turn, keys, draft.steps.totals))


def _index(drafts: Sequence[_TurnWrite]) -> None:
    """Index the turns by their text, their metadata and their tags."""
    search.put_turns((draft.key, draft.turn.tokens) for draft in drafts)
    tags.index_turns((draft.key, draft.turn.metadata) for draft in drafts if draft.stored is None)
    for draft in drafts:
        if draft.stored is not None:
            tags.reindex_turn(draft.key, draft.turn.metadata)
        if draft.turn.tags:
            tags.add(draft.turn.tags, turns=[draft.key])


def _leave_agents(drafts: Sequence[_TurnWrite], agents: AgentKeys) -> None:
    """Delete the agents that turns have left, if they were no more than names of these."""
    moved = [
        (draft.agent, draft.session.key, draft.stored.agent)
        for draft in drafts
        if draft.stored and draft.stored.agent not in (None, draft.agent)
    ]
    if moved:
        execute_many(_MOVE_SESSION, ((agent, session, left, left) for agent, session, left in moved))
        provisional_agents.delete_unused({left for *_, left in moved if left is not None} - agents.used())


def _renumber_sessions(drafts: Sequence[_TurnWrite], sessions: SessionDrafts) -> None:
    """Renumber the sessions that turns joined, in which others may have waited, and update those that turns left."""
    for draft in drafts:
        changes.note(ChangeKind.TURN, draft.key)
    left = {draft.stored.session for draft in drafts if draft.stored and draft.stored.session != draft.session.key}
    for session_key in sorted(left):
        turn_order.update_left_session(session_key)
    for session in sessions.all():
        turn_order.renumber(session)
    waiting = {draft.session.key for draft in drafts if draft.turn.status == "awaiting_input"}
    grown = {session.key for session in sessions.all() if session.joined and not session.created_from}
    waits.end_waits(sorted(waiting | grown))
