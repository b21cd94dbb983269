"""Writes external turns, again whenever more of them is reported, under the keys they got first. All turns of a pass
are written together, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, SelectAmong
from agents.record.models.choices import Source
from agents.record.models.turns import Turn, TurnBody
from agents.record.schemas.content import text_of
from agents.record.store import search, tags, write_steps
from agents.record.store.searchable_text import metadata_text
from agents.record.store.step_rows import StepContent
from agents.telemetry.reading.records import ExternalTurn
from agents.telemetry.store.external import find_or_create, step_drafts, turn_order, turn_rows
from agents.telemetry.store.external.find_or_create import AgentKeys, SessionDraft, SessionDrafts
from agents.telemetry.store.external.owners import Owner, external_id
from agents.telemetry.store.external.step_drafts import NO_STEPS, PlannedSteps
from agents.telemetry.store.external.turn_rows import StepTotals

_PUT = Insert(Turn, turn_rows.FIELDS, replace="id")
_PUT_BODY = Insert(TurnBody, turn_rows.BODY_FIELDS, replace="turn_id")
_STORED = SelectAmong(
    Turn,
    "foreign_id id session_id number started_at input_tokens output_tokens cost_nano",
    "foreign_id",
    "owner_id = %s AND scope_id = %s",
)


@dataclass(frozen=True, slots=True)
class _StoredTurn:
    """The stored columns of a turn that an update needs."""

    key: int
    session: int
    number: int
    started_us: int
    input_tokens: int
    output_tokens: int
    cost_nano: int | None


_NOTHING_STORED = _StoredTurn(0, 0, 0, 0, 0, 0, None)


@dataclass(frozen=True, slots=True)
class PreparedTurn:
    """A turn with all that depends on nothing stored, so that the writer need not wait for this work. ``id`` is the
    sender's id as it is stored, ``steps`` are the contents of the record's steps, ``body`` are columns of its row.
    Where the steps are stored already ``sums`` are theirs, and the record has no steps."""

    id: str
    record: ExternalTurn
    source: Source
    steps: Sequence[StepContent]
    body: Sequence[Any]
    tokens: search.TurnTokens
    sums: StepTotals | None = None


def prepare_turn(record: ExternalTurn, source: Source) -> PreparedTurn:
    contents = [step_drafts.content_of(step) for step in record.steps]
    text = _turn_tokens(record, step_drafts.step_tokens(record, contents))
    return PreparedTurn(external_id(record.id), record, source, contents, turn_rows.body_row(record), text)


def prepare_turn_of_stored_steps(
    record: ExternalTurn, source: Source, sums: StepTotals, step_tokens: Iterable[search.StepTokens]
) -> PreparedTurn:
    """Prepare a turn whose steps are stored already, with the search text of these."""
    text = _turn_tokens(record, step_tokens)
    return PreparedTurn(external_id(record.id), record, source, (), turn_rows.body_row(record), text, sums)


def _turn_tokens(record: ExternalTurn, step_tokens: Iterable[search.StepTokens]) -> search.TurnTokens:
    answer = search.index_tokens(text_of(record.output.content) if record.output else "")
    return search.TurnTokens(
        search.index_tokens(turn_rows.input_text(record)),
        answer,
        search.index_tokens(record.error.message if record.error else ""),
        search.index_tokens(metadata_text(record.metadata)),
        search.steps_document(step_tokens, answer),
    )


# ------------------------------------------------------------------------------------------- storing


@dataclass(frozen=True, slots=True)
class _TurnDraft:
    """A turn that is to be written, with its agent, session and number."""

    key: int
    prepared: PreparedTurn
    stored: _StoredTurn | None
    agent: int
    session: SessionDraft
    number: int
    steps: PlannedSteps
    sums: StepTotals


def write(owner: Owner, turns: Sequence[PreparedTurn]) -> list[int]:
    """Store turns, each of another id, within the caller's transaction; returns their keys in order."""
    agents, sessions = AgentKeys(owner), SessionDrafts(owner, [turn.record.session for turn in turns])
    stored = _stored(owner, [turn.id for turn in turns])
    drafts = [_draft(turn, stored.get(turn.id), agents, sessions) for turn in turns]
    sessions.write()
    _PUT.execute_many(_row(owner, draft) for draft in drafts)
    _PUT_BODY.execute_many((draft.key, *draft.prepared.body) for draft in drafts)
    write_steps.replace([draft.steps.plan for draft in drafts])
    _index(drafts)
    _renumber_sessions(drafts, sessions)
    return [draft.key for draft in drafts]


def key_of(owner: Owner, name: str) -> int | None:
    """The key of a stored turn, by the sender's id as it is stored."""
    stored = _stored(owner, [name]).get(name)
    return stored.key if stored else None


def _stored(owner: Owner, names: Sequence[str]) -> dict[str, _StoredTurn]:
    return {name: _StoredTurn(*row) for name, *row in _STORED.all(names, owner.user, owner.scope)}


def _draft(
    prepared_turn: PreparedTurn, stored: _StoredTurn | None, agents: AgentKeys, sessions: SessionDrafts
) -> _TurnDraft:
    record, source = prepared_turn.record, prepared_turn.source
    for name in record.agents:
        agents.find_or_create(name, record, source)
    agent = agents.find_or_create(record.agent or find_or_create.UNKNOWN_MODEL, record, source)
    session = sessions.draft_of(record, agent, source)
    key = stored.key if stored else ids.new_key(record.started_us)
    steps = (
        NO_STEPS
        if prepared_turn.sums
        else step_drafts.plan_steps(key, record, prepared_turn.steps, is_new=stored is None)
    )
    sums = prepared_turn.sums or StepTotals.of(record, record.steps, steps.cost_nano)
    number = _number_in_session(session, key, record, stored)
    _add_to_session(session, record, sums, stored if stored and stored.session == session.key else _NOTHING_STORED)
    return _TurnDraft(key, prepared_turn, stored, agent, session, number, steps, sums)


def _number_in_session(session: SessionDraft, key: int, record: ExternalTurn, stored: _StoredTurn | None) -> int:
    """The turn's number in its session, until the session is renumbered."""
    if stored and stored.session == session.key:
        session.needs_renumbering |= stored.started_us != record.started_us
        return stored.number
    number = turn_order.next_number(session)
    session.joined.append(key)
    session.needs_renumbering |= stored is not None
    return number


def _add_to_session(session: SessionDraft, record: ExternalTurn, sums: StepTotals, previous: _StoredTurn) -> None:
    """Add the difference between a turn's sums and the stored ones to its session."""
    session.input_tokens += sums.usage.input_tokens - previous.input_tokens
    session.output_tokens += sums.usage.output_tokens - previous.output_tokens
    if sums.cost_nano is not None or previous.cost_nano is not None:
        session.cost_nano = (session.cost_nano or 0) + (sums.cost_nano or 0) - (previous.cost_nano or 0)
    session.extend(record.started_us, record.ended_us or record.started_us)


def _row(owner: Owner, draft: _TurnDraft) -> Sequence[object]:
    keys = (draft.key, draft.session.key, draft.agent, draft.number)
    return turn_rows.turn_row(owner, draft.prepared.record, draft.prepared.source, keys, draft.sums)


def _index(drafts: Sequence[_TurnDraft]) -> None:
    """Index the turns by their text, their metadata and their tags."""
    search.put_turns((draft.key, draft.prepared.tokens) for draft in drafts)
    tags.index_turns((draft.key, draft.prepared.record.metadata) for draft in drafts if draft.stored is None)
    for draft in drafts:
        record = draft.prepared.record
        if draft.stored is not None:
            tags.reindex_turn(draft.key, record.metadata)
        if record.tags:
            tags.add(record.tags, turns=[draft.key])


def _renumber_sessions(drafts: Sequence[_TurnDraft], sessions: SessionDrafts) -> None:
    """Renumber the sessions that turns joined, and update those that turns left."""
    for draft in drafts:
        changes.note(ChangeKind.TURN, draft.key)
    left = {draft.stored.session for draft in drafts if draft.stored and draft.stored.session != draft.session.key}
    for session_key in sorted(left):
        turn_order.update_left_session(session_key)
    for session in sessions.all():
        turn_order.renumber(session)
