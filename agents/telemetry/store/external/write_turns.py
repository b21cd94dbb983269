"""Writes external turns, again whenever more of them is reported, under the keys they got first. All turns of a pass
are written together, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.claims import ClaimKind, lock_to_the_end
from agents.base.store.sql import Insert, SelectAmong
from agents.record.models.choices import Source
from agents.record.models.turns import Step, Turn, TurnBody
from agents.record.store import search, tags, turn_rows, write_steps
from agents.record.store.feedback_hooks import JudgedTurn, hooks
from agents.record.store.searchable_text import metadata_text
from agents.record.store.step_rows import StepContent
from agents.record.store.totals import SHARE_COLUMNS, SessionTotals, TurnTotals
from agents.record.store.write_steps import StepPlan
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.store.external import step_drafts, turn_drafts, turn_order
from agents.telemetry.store.external.find_or_create import AgentKeys, SessionDraft, SessionDrafts
from agents.telemetry.store.external.owners import Owner, external_id, session_mark
from agents.telemetry.store.external.step_drafts import PlannedSteps

_PUT = Insert(Turn, turn_rows.COLUMNS, replace="id", keep="parent_id")
_PUT_BODY = Insert(TurnBody, turn_rows.BODY_COLUMNS, replace="turn_id")
_STORED = SelectAmong(
    Turn,
    f"foreign_id id session_id number started_at {SHARE_COLUMNS}",
    "foreign_id",
    "owner_id = %s AND scope_id = %s",
)
_STEPS = SelectAmong(Step, "foreign_id id", "foreign_id", "turn_id = %s")


@dataclass(frozen=True, slots=True)
class _StoredTurn:
    """The stored columns of a turn that an update needs."""

    key: int
    session: int
    number: int
    started_us: int
    totals: SessionTotals


_NOTHING = SessionTotals()
NO_STEPS = StepPlan({}, {}, {})


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn with all that depends on nothing stored, so that the writer need not wait for this work. ``id`` is the
    sender's id as it is stored, ``steps`` are the contents of the record's steps, ``body`` are columns of its row.
    Where the steps are stored already ``totals`` are theirs, and the record has no steps."""

    id: str
    record: ExternalTurn
    source: Source
    steps: Sequence[StepContent]
    body: Sequence[Any]
    tokens: search.TurnTokens
    totals: TurnTotals | None = None


def prepare_turn(record: ExternalTurn, source: Source) -> PreparedTurn:
    contents = [step_drafts.content_of(step) for step in record.steps]
    text = _turn_tokens(record, step_drafts.step_tokens(record, contents))
    return PreparedTurn(external_id(record.id), record, source, contents, turn_drafts.body_columns(record), text)


def prepare_turn_of_stored_steps(
    record: ExternalTurn, source: Source, totals: TurnTotals, step_tokens: Iterable[search.StepTokens]
) -> PreparedTurn:
    """Prepare a turn whose steps are stored already, with the search text of these."""
    text = _turn_tokens(record, step_tokens)
    return PreparedTurn(external_id(record.id), record, source, (), turn_drafts.body_columns(record), text, totals)


def _turn_tokens(record: ExternalTurn, step_tokens: Iterable[search.StepTokens]) -> search.TurnTokens:
    answer = search.index_tokens(turn_rows.answer_text(record.output))
    return search.TurnTokens(
        search.index_tokens(turn_rows.input_text(record.input)),
        answer,
        search.index_tokens(record.error.message if record.error else ""),
        search.index_tokens(metadata_text(record.metadata)),
        search.steps_document(step_tokens, answer),
    )


# ------------------------------------------------------------------------------------------- storing


@dataclass(frozen=True, slots=True)
class _TurnWrite:
    """A turn that is to be written, with its agent, session and number."""

    key: int
    prepared: PreparedTurn
    stored: _StoredTurn | None
    agent: int
    session: SessionDraft
    number: int
    steps: PlannedSteps


def write(owner: Owner, turns: Sequence[PreparedTurn]) -> list[int]:
    """Store turns, each of another id, within the caller's transaction; returns their keys in order."""
    session_ids = [turn.record.session for turn in turns]
    # each gets the next number of its session, and may be the first one of it: no other process may write to it
    lock_to_the_end(ClaimKind.SESSION, {session_mark(owner, external_id(name)) for name in session_ids})
    agents, sessions = AgentKeys(owner), SessionDrafts(owner, session_ids)
    for turn in turns:  # before another one has it as a sub-agent, whose instructions it does not know
        agents.of_turn(turn.record, turn.source)
    stored = _stored(owner, [turn.id for turn in turns])
    drafts = [_draft(turn, stored.get(turn.id), agents, sessions) for turn in turns]
    sessions.write()
    _PUT.execute_many(_row(owner, draft) for draft in drafts)
    _PUT_BODY.execute_many((draft.key, *draft.prepared.body) for draft in drafts)
    write_steps.replace([draft.steps.plan for draft in drafts])
    _index(drafts)
    _renumber_sessions(drafts, sessions)
    _put_feedback(owner, drafts)
    return [draft.key for draft in drafts]


def _put_feedback(owner: Owner, drafts: Sequence[_TurnWrite]) -> None:
    """Store what was reported of the turns, on those of their steps that it names."""
    for draft in drafts:
        entries = draft.prepared.record.feedback
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
        name: _StoredTurn(key, session, number, started, SessionTotals(0, *share))
        for name, key, session, number, started, *share in rows
    }


def _draft(
    prepared_turn: PreparedTurn, stored: _StoredTurn | None, agents: AgentKeys, sessions: SessionDrafts
) -> _TurnWrite:
    record, source = prepared_turn.record, prepared_turn.source
    for name in record.agents:
        agents.find_or_create(name, record, source)
    agent = agents.of_turn(record, source)
    session = sessions.draft_of(record, agent, source)
    key = stored.key if stored else ids.new_key(record.started_us)
    if prepared_turn.totals is not None:
        steps = PlannedSteps(NO_STEPS, prepared_turn.totals)
    else:
        others = agents.of_others(record.steps, record, source)
        steps = step_drafts.plan_steps(key, record, prepared_turn.steps, others, is_new=stored is None)
    number = _number_in_session(session, key, record, stored)
    before = stored.totals if stored and stored.session == session.key else _NOTHING
    _add_to_session(session, record, steps.totals, before)
    return _TurnWrite(key, prepared_turn, stored, agent, session, number, steps)


def _number_in_session(session: SessionDraft, key: int, record: ExternalTurn, stored: _StoredTurn | None) -> int:
    """The turn's number in its session, until the session is renumbered."""
    if stored and stored.session == session.key:
        session.needs_renumbering |= stored.started_us != record.started_us
        return stored.number
    number = turn_order.next_number(session)
    session.joined.append(key)
    session.totals.turn_count += 1
    session.needs_renumbering |= stored is not None
    return number


def _add_to_session(session: SessionDraft, record: ExternalTurn, totals: TurnTotals, stored: SessionTotals) -> None:
    """Add the difference between a turn's sums and the stored ones to its session."""
    session.totals.add(SessionTotals.of(totals))
    session.totals.add(stored, -1)
    session.extend(record.started_us, record.ended_us or record.started_us)


def _row(owner: Owner, draft: _TurnWrite) -> Sequence[object]:
    keys = (draft.key, draft.session.key, draft.agent, draft.number)
    prepared = draft.prepared
    return turn_rows.turn_row(turn_drafts.turn_draft(owner, prepared.record, prepared.source, keys, draft.steps.totals))


def _index(drafts: Sequence[_TurnWrite]) -> None:
    """Index the turns by their text, their metadata and their tags."""
    search.put_turns((draft.key, draft.prepared.tokens) for draft in drafts)
    tags.index_turns((draft.key, draft.prepared.record.metadata) for draft in drafts if draft.stored is None)
    for draft in drafts:
        record = draft.prepared.record
        if draft.stored is not None:
            tags.reindex_turn(draft.key, record.metadata)
        if record.tags:
            tags.add(record.tags, turns=[draft.key])


def _renumber_sessions(drafts: Sequence[_TurnWrite], sessions: SessionDrafts) -> None:
    """Renumber the sessions that turns joined, and update those that turns left."""
    for draft in drafts:
        changes.note(ChangeKind.TURN, draft.key)
    left = {draft.stored.session for draft in drafts if draft.stored and draft.stored.session != draft.session.key}
    for session_key in sorted(left):
        turn_order.update_left_session(session_key)
    for session in sessions.all():
        turn_order.renumber(session)
