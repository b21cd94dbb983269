"""Finds or creates the agents and sessions of external turns, by the senders' names for them. Each is looked up once
in a pass, and written once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agents.base import ids
from agents.base.models.changes import ChangeKind
from agents.base.store import changes
from agents.base.store.sql import Insert, Select, SelectAmong, UpdateByKey, execute_many
from agents.base.tokenizer import fold
from agents.record.models.agents import Agent, AgentRevision, Session
from agents.record.models.choices import Api
from agents.record.models.turns import Turn
from agents.record.schemas.agents import AgentConfig
from agents.record.store import totals
from agents.record.store.totals import SESSION_COLUMNS, SessionTotals
from agents.telemetry.reading.prepared_turns import PreparedStep, PreparedTurn
from agents.telemetry.store.external.owners import Owner, external_id
from agents.telemetry.store.external.turn_drafts import source_of

_ENDED = frozenset({"completed", "failed", "cancelled", "interrupted"})
UNKNOWN_MODEL = "unknown"
"""The name of a model that was not reported."""
MAX_INSTRUCTIONS = 100_000

_AGENT = Select(Agent, "id revision_id", "owner_id = %s AND scope_id = %s AND foreign_id = %s")
_REPORTED_CONFIG = Select(AgentRevision, "config", "id = %s AND number = 1")
_LAST_TURN = Select(Turn, "id", "agent_id = %s ORDER BY id DESC LIMIT 1")
_UPDATE_AGENT = UpdateByKey(Agent, "model updated_at")
_UPDATE_REVISION = UpdateByKey(AgentRevision, "config")
_ADD_AGENT = Insert(Agent, "id name model owner_id scope_id revision_id source created_at updated_at foreign_id")
_ADD_REVISION = Insert(AgentRevision, "id agent_id number config author_id created_at")
_SESSIONS = SelectAmong(Session, "foreign_id id", "foreign_id", "owner_id = %s AND scope_id = %s")
_ADD_SESSION = Insert(
    Session,
    "id agent_id name folded owner_id scope_id api source created_at updated_at item_count branched metadata "
    f"foreign_id last_turn {SESSION_COLUMNS}",
)
_EXTEND = (
    "UPDATE agents_session SET created_at = CASE WHEN created_at > %s THEN %s ELSE created_at END, "
    "updated_at = CASE WHEN updated_at < %s THEN %s ELSE updated_at END WHERE id = %s"
)


class AgentKeys:
    """Finds or creates the agents of one owner, in one pass."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._keys: dict[str, int] = {}
        self._revisions: dict[int, int] = {}
        self._configs: dict[int, AgentConfig | None] = {}

    def find_or_create(self, name: str, turn: PreparedTurn) -> int:
        """The key of the agent of this name. A new one gets model and instructions of its first turn."""
        if name not in self._keys:
            row = _AGENT.first(self._owner.user, self._owner.scope, external_id(name))
            key, revision = row or _new_agent(self._owner, name, turn)
            self._keys[name], self._revisions[key] = key, revision
        return self._keys[name]

    def learn(self, turn: PreparedTurn, turn_key: int) -> None:
        """Take over what a turn, which is not written yet, reports of its agent: what was unknown, and from the ended
        turn that is the agent's latest, what is different. An agent that somebody has changed stays as it is."""
        model, instructions = _model(turn.agent, turn), _instructions(turn.agent, turn)
        agent = self.of_turn(turn)
        if agent not in self._configs:
            row = _REPORTED_CONFIG.first(self._revisions[agent])
            self._configs[agent] = AgentConfig.model_validate_json(row[0]) if row else None
        config = self._configs[agent]
        if config is None:
            return
        news: dict[str, str] = {}
        if model not in (config.model, UNKNOWN_MODEL):
            news["model"] = model
        if instructions not in (config.instructions, ""):
            news["instructions"] = instructions
        if not news:
            return
        if not (turn.status in _ENDED and self._is_latest(agent, turn_key)):
            known = {"model": config.model != UNKNOWN_MODEL, "instructions": bool(config.instructions)}
            news = {name: value for name, value in news.items() if not known[name]}
        if news:
            config = self._configs[agent] = config.model_copy(update=news)
            _UPDATE_AGENT.execute_many([(config.model, ids.now_us(), agent)])
            _UPDATE_REVISION.execute_many([(config.model_dump_json(exclude_none=True), self._revisions[agent])])
            changes.note(ChangeKind.AGENT, agent)

    def _is_latest(self, agent: int, turn_key: int) -> bool:
        last = _LAST_TURN.first(agent)
        return last is None or last[0] <= turn_key

    def used(self) -> set[int]:
        """The keys of all that this pass has asked for."""
        return set(self._keys.values())

    def of_turn(self, turn: PreparedTurn) -> int:
        """The key of the agent that was asked."""
        return self.find_or_create(turn.agent or UNKNOWN_MODEL, turn)

    def of_others(self, steps: Iterable[PreparedStep], turn: PreparedTurn) -> dict[str, int]:
        """The keys of the agents of these steps that are not the turn's, by name."""
        own = self.of_turn(turn)
        keys = {name: self.find_or_create(name, turn) for name in {step.agent for step in steps} - {""}}
        return {name: key for name, key in keys.items() if key != own}


def _new_agent(owner: Owner, name: str, turn: PreparedTurn) -> tuple[int, int]:
    """Create an agent; returns its key and that of its revision."""
    key, revision = ids.new_key(turn.started_us), ids.new_key(turn.started_us)
    source = source_of(turn).value
    model, now = _model(name, turn), ids.now_us()
    _ADD_AGENT.execute(
        key, name[:300], model, owner.user, owner.scope, revision, source, turn.started_us, now, external_id(name)
    )
    _ADD_REVISION.execute(revision, key, 1, _config(name, model, turn), owner.user, turn.started_us)
    changes.note(ChangeKind.AGENT, key)
    return key, revision


def _config(name: str, model: str, turn: PreparedTurn) -> str:
    """The configuration as far as the turn reports it, in the form of our own agents."""
    config = AgentConfig(model=model, instructions=_instructions(name, turn), name=name[:300])
    return config.model_dump_json(exclude_none=True)


def _model(name: str, turn: PreparedTurn) -> str:
    own_model = turn.agent_model if name == turn.agent else ""
    return (own_model or turn.model or UNKNOWN_MODEL)[:300]


def _instructions(name: str, turn: PreparedTurn) -> str:
    return turn.instructions[:MAX_INSTRUCTIONS] if name == turn.agent else ""


@dataclass(slots=True)
class SessionDraft:
    """A session and the changes that a pass makes to it. ``totals`` are those of the written turns, less what was
    stored of these before. ``joined`` are turns that are new in it; ``needs_renumbering`` says that another turn of it
    starts at another time than before. ``created_from`` is set for a new session. Times are microseconds."""

    key: int
    name: str
    created_from: tuple[PreparedTurn, int] | None
    joined: list[int] = field(default_factory=list)
    needs_renumbering: bool = False
    totals: SessionTotals = field(default_factory=SessionTotals)
    started_us: int = 0
    ended_us: int = 0

    def extend(self, started_us: int, ended_us: int) -> None:
        self.started_us = min(self.started_us, started_us)
        self.ended_us = max(self.ended_us, ended_us)


class SessionDrafts:
    """Finds or creates the sessions of one owner, in one pass."""

    def __init__(self, owner: Owner, names: Iterable[str]) -> None:
        session_ids = list(dict.fromkeys(map(external_id, names)))
        self._owner = owner
        self._stored: dict[str, int] = dict(_SESSIONS.all(session_ids, owner.user, owner.scope))
        self._drafts: dict[str, SessionDraft] = {}

    def draft_of(self, turn: PreparedTurn, agent: int) -> SessionDraft:
        """The session of a turn. A new one gets its name from its first turn."""
        name = external_id(turn.session)
        draft = self._drafts.get(name)
        if draft is None:
            key = self._stored.get(name)
            created_from = (turn, agent) if key is None else None
            draft = SessionDraft(key or ids.new_key(turn.started_us), name, created_from)
            draft.started_us, draft.ended_us = turn.started_us, turn.started_us
            self._drafts[name] = draft
        return draft

    def all(self) -> list[SessionDraft]:
        return list(self._drafts.values())

    def write(self) -> None:
        """Insert the new sessions, and add to the sums of the others: before the turns that refer to them."""
        drafts = self.all()
        _ADD_SESSION.execute_many(
            _new_row(self._owner, draft, *draft.created_from) for draft in drafts if draft.created_from
        )
        stored = [draft for draft in drafts if not draft.created_from]
        totals.add({draft.key: draft.totals for draft in stored})
        execute_many(_EXTEND, (_extent(draft) for draft in stored))
        for draft in drafts:
            changes.note(ChangeKind.SESSION, draft.key)


def _new_row(owner: Owner, draft: SessionDraft, turn: PreparedTurn, agent: int) -> tuple[object, ...]:
    name = _session_name(turn)
    head = (draft.key, agent, name, fold(name)[:1600], owner.user, owner.scope, Api.NONE.value, source_of(turn).value)
    times = (draft.started_us, draft.ended_us)
    return (*head, *times, 0, False, "{}", draft.name, draft.joined[-1], *draft.totals.columns())


def _extent(draft: SessionDraft) -> tuple[int, ...]:
    return draft.started_us, draft.started_us, draft.ended_us, draft.ended_us, draft.key


def _session_name(turn: PreparedTurn) -> str:
    """The name of a session on pages: its own where it has one, else the sender's id of it."""
    if turn.session_name is None:
        return ""
    return (turn.session_name or ("" if is_placeholder(turn.session) else turn.session))[:500]


def is_placeholder(session: str) -> bool:
    """Whether a session stands for the absence of one: its turn named none."""
    return session.startswith("trace:")
