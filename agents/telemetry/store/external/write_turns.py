"""Foreign turns as rows: written anew whenever more of them is known, under the keys they have once got. All turns
of a pass are written together, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, SelectAmong
from agents.query.record import metadata_text
from agents.record.models.choices import Source
from agents.record.models.turns import Turn, TurnBody
from agents.record.schemas.content import text_of
from agents.record.store import search, tags
from agents.telemetry.reading.records import ForeignTurn
from agents.telemetry.store.external import find_or_create, step_rows, turn_order, turn_rows
from agents.telemetry.store.external import write_steps as foreign_steps
from agents.telemetry.store.external.find_or_create import Agents, Talk, Talks
from agents.telemetry.store.external.owners import Owner, foreign_id
from agents.telemetry.store.external.step_rows import Said
from agents.telemetry.store.external.turn_rows import Sums

_PUT = Insert(Turn, turn_rows.FIELDS, replace="id")
_PUT_BODY = Insert(TurnBody, turn_rows.BODY_FIELDS, replace="turn_id")
_OLD = SelectAmong(
    Turn,
    "foreign_id id session_id number started_at input_tokens output_tokens cost_nano",
    "foreign_id",
    "owner_id = %s AND scope_id = %s",
)


@dataclass(frozen=True, slots=True)
class _Old:
    """What is stored of a turn already."""

    key: int
    session: int
    number: int
    started_us: int
    input_tokens: int
    output_tokens: int
    cost_nano: int | None


_NONE = _Old(0, 0, 0, 0, 0, 0, None)
NO_STEPS = foreign_steps.Plan({}, (), None)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn with all of it that hangs on nothing stored: the writer need not wait for this to be made. ``id`` is
    the sender's as it is kept, ``steps`` what the record's steps say, ``body`` columns of its row. Where the steps
    are stored already ``sums`` are what they come to, and the record has none."""

    id: str
    record: ForeignTurn
    source: Source
    steps: Sequence[Said]
    body: Sequence[Any]
    words: search.TurnTokens
    sums: Sums | None = None


def prepared(record: ForeignTurn, source: Source) -> Prepared:
    steps = [step_rows.said(step) for step in record.steps]
    words = _words(record, foreign_steps.words(record, steps))
    return Prepared(foreign_id(record.id), record, source, steps, turn_rows.body(record), words)


def prepared_beside(record: ForeignTurn, source: Source, sums: Sums, heard: Iterable[search.StepTokens]) -> Prepared:
    """The same of a turn whose steps are stored already, with the words that these are found by."""
    words = _words(record, heard)
    return Prepared(foreign_id(record.id), record, source, (), turn_rows.body(record), words, sums)


def _words(record: ForeignTurn, heard: Iterable[search.StepTokens]) -> search.TurnTokens:
    answered = search.index_tokens(text_of(record.output.content) if record.output else "")
    return search.TurnTokens(
        search.index_tokens(turn_rows.asked(record)),
        answered,
        search.index_tokens(record.error.message if record.error else ""),
        search.index_tokens(metadata_text(record.metadata)),
        search.joined(heard, answered),
    )


# ------------------------------------------------------------------------------------------- storing


@dataclass(frozen=True, slots=True)
class _Draft:
    """A turn that is to be written, and where it belongs."""

    key: int
    told: Prepared
    old: _Old | None
    agent: int
    talk: Talk
    number: int
    steps: foreign_steps.Plan
    sums: Sums


def write(owner: Owner, told: Sequence[Prepared]) -> list[int]:
    """Store turns, each of another id, within the caller's transaction; returns their keys in order."""
    agents, talks = Agents(owner), Talks(owner, [one.record.session for one in told])
    stored = _stored(owner, [one.id for one in told])
    drafts = [_draft(one, stored.get(one.id), agents, talks) for one in told]
    talks.write()
    _PUT.many(_row(owner, draft) for draft in drafts)
    _PUT_BODY.many((draft.key, *draft.told.body) for draft in drafts)
    foreign_steps.write([draft.steps for draft in drafts])
    _make_found(drafts)
    _settle(drafts, talks)
    return [draft.key for draft in drafts]


def key_of(owner: Owner, name: str) -> int | None:
    """The key of a turn that is stored, by the sender's id as it is kept."""
    found = _stored(owner, [name]).get(name)
    return found.key if found else None


def _stored(owner: Owner, names: Sequence[str]) -> dict[str, _Old]:
    return {name: _Old(*row) for name, *row in _OLD.all(names, owner.user, owner.scope)}


def _draft(told: Prepared, old: _Old | None, agents: Agents, talks: Talks) -> _Draft:
    record, source = told.record, told.source
    for name in record.agents:
        agents.of(name, record, source)
    agent = agents.of(record.agent or find_or_create.UNKNOWN, record, source)
    talk = talks.of(record, agent, source)
    key = old.key if old else ids.new_key(record.started_us)
    steps = NO_STEPS if told.sums else foreign_steps.plan(key, record, told.steps, is_new=old is None)
    sums = told.sums or Sums.of(record, record.steps, steps.cost_nano)
    number = _join(talk, key, record, old)
    _add_up(talk, record, sums, old if old and old.session == talk.key else _NONE)
    return _Draft(key, told, old, agent, talk, number, steps, sums)


def _join(talk: Talk, key: int, record: ForeignTurn, old: _Old | None) -> int:
    """The turn's number in its session, for now."""
    if old and old.session == talk.key:
        talk.is_moved |= old.started_us != record.started_us
        return old.number
    number = turn_order.next_number(talk)
    talk.joined.append(key)
    talk.is_moved |= old is not None
    return number


def _add_up(talk: Talk, record: ForeignTurn, sums: Sums, before: _Old) -> None:
    """Bring a session's sums to what its turns come to now."""
    talk.input_tokens += sums.usage.input_tokens - before.input_tokens
    talk.output_tokens += sums.usage.output_tokens - before.output_tokens
    if sums.cost_nano is not None or before.cost_nano is not None:
        talk.cost_nano = (talk.cost_nano or 0) + (sums.cost_nano or 0) - (before.cost_nano or 0)
    talk.reach(record.started_us, record.ended_us or record.started_us)


def _row(owner: Owner, draft: _Draft) -> Sequence[object]:
    place = (draft.key, draft.talk.key, draft.agent, draft.number)
    return turn_rows.turn(owner, draft.told.record, draft.told.source, place, draft.sums)


def _make_found(drafts: Sequence[_Draft]) -> None:
    """By their words, their metadata, their tags."""
    search.put_turns((draft.key, draft.told.words) for draft in drafts)
    tags.of_turns((draft.key, draft.told.record.metadata) for draft in drafts if draft.old is None)
    for draft in drafts:
        record = draft.told.record
        if draft.old is not None:
            tags.of_turn_again(draft.key, record.metadata)
        if record.tags:
            tags.add(record.tags, turns=[draft.key])


def _settle(drafts: Sequence[_Draft], talks: Talks) -> None:
    """Bring the sessions in order that turns came to, or went from."""
    for draft in drafts:
        changes.note(ChangeKind.TURN, draft.key)
    left = {draft.old.session for draft in drafts if draft.old and draft.old.session != draft.talk.key}
    for session in sorted(left):
        turn_order.leave(session)
    for talk in talks.all():
        turn_order.keep(talk)
