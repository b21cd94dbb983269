"""Agents and sessions that foreign turns belong to: found by the senders' names for them, or made. Each is looked
for once in a pass, and written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, Select, SelectAmong, execute_many
from agents.base.tokenizer import fold
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import Api, Source
from agents.record.schemas.agents import AgentConfig
from agents.telemetry.reading.records import ForeignTurn
from agents.telemetry.store.external.owners import Owner, foreign_id

UNKNOWN = "unknown"
"""What a model is called that nobody named."""
LONGEST_INSTRUCTIONS = 100_000

_AGENT = Select(Agent, "id", "owner_id = %s AND scope_id = %s AND foreign_id = %s")
_ADD_AGENT = Insert(Agent, "id name model owner_id scope_id revision_id source created_at updated_at foreign_id")
_ADD_REVISION = Insert(AgentRevision, "id agent_id number config author_id created_at")
_SESSIONS = SelectAmong(Session, "foreign_id id", "foreign_id", "owner_id = %s AND scope_id = %s")
_ADD_SESSION = Insert(
    Session,
    "id agent_id name folded owner_id scope_id api source created_at updated_at turn_count item_count branched "
    "input_tokens output_tokens cost_nano metadata foreign_id last_turn",
)
_ADD_UP = (
    "UPDATE agents_session SET turn_count = turn_count + %s, input_tokens = input_tokens + %s, "
    "output_tokens = output_tokens + %s, "
    "cost_nano = CASE WHEN %s THEN COALESCE(cost_nano, 0) + %s ELSE cost_nano END, "
    "created_at = CASE WHEN created_at > %s THEN %s ELSE created_at END, "
    "updated_at = CASE WHEN updated_at < %s THEN %s ELSE updated_at END WHERE id = %s"
)


class Agents:
    """The agents of one owner, in one pass."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._known: dict[str, int] = {}

    def of(self, name: str, turn: ForeignTurn, source: Source) -> int:
        """The key of the agent of this name. A new one is described by the turn it is first seen in."""
        if name not in self._known:
            found = _AGENT.first(self._owner.user, self._owner.scope, foreign_id(name))
            self._known[name] = int(found[0]) if found else _new_agent(self._owner, name, turn, source)
        return self._known[name]


def _new_agent(owner: Owner, name: str, turn: ForeignTurn, source: Source) -> int:
    key, revision = ids.new_key(turn.started_us), ids.new_key(turn.started_us)
    model = (turn.model or UNKNOWN)[:300]
    now = ids.now_us()
    _ADD_AGENT.one(
        key, name[:300], model, owner.user, owner.scope, revision, source.value, turn.started_us, now, foreign_id(name)
    )
    _ADD_REVISION.one(revision, key, 1, _config(name, model, turn), owner.user, turn.started_us)
    changes.note(ChangeKind.AGENT, key)
    return key


def _config(name: str, model: str, turn: ForeignTurn) -> str:
    """What is known of it, in the form of our own agents."""
    instructions = turn.instructions[:LONGEST_INSTRUCTIONS] if name == turn.agent else ""
    config = AgentConfig(model=model, instructions=instructions, name=name[:300])
    return config.model_dump_json(exclude_none=True)


@dataclass(slots=True)
class Talk:
    """A session, and what a pass adds to it: turns and what they come to, less what those come to that were stored
    already. ``joined`` are turns that are new in it; ``is_moved`` says that one of its others begins at another
    time than before. Moments are microseconds."""

    key: int
    name: str
    made_by: tuple[ForeignTurn, int, Source] | None
    joined: list[int] = field(default_factory=list)
    is_moved: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nano: int | None = None
    began_us: int = 0
    ended_us: int = 0

    def reach(self, began_us: int, ended_us: int) -> None:
        self.began_us = min(self.began_us, began_us)
        self.ended_us = max(self.ended_us, ended_us)


class Talks:
    """The sessions of one owner, in one pass."""

    def __init__(self, owner: Owner, names: Iterable[str]) -> None:
        some = list(dict.fromkeys(map(foreign_id, names)))
        self._owner = owner
        self._stored: dict[str, int] = dict(_SESSIONS.all(some, owner.user, owner.scope))
        self._talks: dict[str, Talk] = {}

    def of(self, turn: ForeignTurn, agent: int, source: Source) -> Talk:
        """The conversation a turn belongs to. A new one is described by the turn it is first seen in."""
        name = foreign_id(turn.session)
        talk = self._talks.get(name)
        if talk is None:
            key = self._stored.get(name)
            made_by = (turn, agent, source) if key is None else None
            talk = Talk(key or ids.new_key(turn.started_us), name, made_by)
            talk.began_us, talk.ended_us = turn.started_us, turn.started_us
            self._talks[name] = talk
        return talk

    def all(self) -> list[Talk]:
        return list(self._talks.values())

    def write(self) -> None:
        """Make those that are new, and add up the others: before the turns that refer to them."""
        talks = self.all()
        _ADD_SESSION.many(_new_row(self._owner, talk, *talk.made_by) for talk in talks if talk.made_by)
        execute_many(_ADD_UP, (_more(talk) for talk in talks if not talk.made_by))
        for talk in talks:
            changes.note(ChangeKind.SESSION, talk.key)


def _new_row(owner: Owner, talk: Talk, turn: ForeignTurn, agent: int, source: Source) -> tuple[object, ...]:
    shown = _name(turn)
    head = (talk.key, agent, shown, fold(shown)[:1600], owner.user, owner.scope, Api.NONE.value, source.value)
    sums = (talk.input_tokens, talk.output_tokens, talk.cost_nano)
    return (*head, talk.began_us, talk.ended_us, len(talk.joined), 0, False, *sums, "{}", talk.name, talk.joined[-1])


def _more(talk: Talk) -> tuple[object, ...]:
    cost, began, ended = talk.cost_nano, talk.began_us, talk.ended_us
    sums = (len(talk.joined), talk.input_tokens, talk.output_tokens, cost is not None, cost or 0)
    return (*sums, began, began, ended, ended, talk.key)


def _name(turn: ForeignTurn) -> str:
    """What a session is shown as: its name where it has one, else the sender's id of it."""
    return (turn.session_name or ("" if is_made_up(turn.session) else turn.session))[:500]


def is_made_up(session: str) -> bool:
    """Whether a turn's session is only what nobody said it belongs to."""
    return session.startswith("trace:")
