"""Plain rows for the oracle: what a query can see of an agent, a session, a turn, a response, a step.

`tests.query.columns` has the attributes by field. Absent is None, or empty for texts
and lists. Ids are public ids as text, moments and lengths of time microseconds, costs billionths
of a dollar (``cost_nano``). Must not know tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agents.query.tree import LEVELS, Level
from agents.record.models.choices import TRUNCATING
from agents.record.schemas.searchable_text import metadata_text

_MARKS = {"queued": ("live",), "in_progress": ("live",), "awaiting_input": ("waiting",)}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What people said of a record: tags, thumbs (``up``, ``down``), scores by name, comments."""

    tags: tuple[str, ...] = ()
    ratings: tuple[str, ...] = ()
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What a record cost."""

    tokens_total: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    cost_nano: int | None = None


@dataclass(frozen=True, kw_only=True)
class Happened(Counted):
    """What turns, responses and steps have in common."""

    id: str
    status: str
    started_us: int | None = None
    ended_us: int | None = None
    duration_us: int | None = None
    model: str = ""
    undecided: bool = False

    def progress(self) -> tuple[str, ...]:
        """The values of ``is:`` that say how far it is."""
        return _MARKS.get(self.status, ()) + (("undecided",) if self.undecided else ())


@dataclass(frozen=True, kw_only=True)
class StepRecord(Happened, Judged):
    """``tool`` is empty for all but tool executions, ``server_side`` None. ``args`` and ``result`` are the
    decoded JSON of a tool's call and answer. ``said``, ``args_text``, ``result_text`` and ``problem`` are
    together all that can be found in the step. ``agent`` is the id of the agent that did it, empty for its turn's."""

    type: str
    agent: str = ""
    kind: str = ""
    tool: str = ""
    server_side: bool | None = None
    answered_by: str = ""
    finish: str = ""
    ttft_us: int | None = None
    waited_us: int | None = None
    error_type: str = ""
    error_message: str = ""
    error_without_numbers: str = ""
    violation: str = ""
    said: str = ""
    args_text: str = ""
    result_text: str = ""
    problem: str = ""
    args: Any = None
    result: Any = None

    @property
    def marks(self) -> tuple[str, ...]:
        """The values of ``is:``."""
        return self.progress() + (("truncated",) if self.finish in TRUNCATING else ())


@dataclass(frozen=True, kw_only=True)
class ResponseRecord(Happened):
    """One leg of a turn; ``cut`` where it is the last one of a turn that stopped before its end."""

    api: str = ""
    cut: bool = False
    steps: tuple[StepRecord, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        return self.progress() + (("truncated",) if self.cut else ())


@dataclass(frozen=True, kw_only=True)
class TurnRecord(Happened, Judged):
    """``input`` and ``output`` are the texts of its messages, ``metadata`` decoded JSON."""

    user: str = ""
    env: str = ""
    prompts: tuple[str, ...] = ()
    key: str = ""
    api: str = ""
    source: str = ""
    provider: str = ""
    stop_reason: str = ""
    ttft_us: int | None = None
    waited_us: int | None = None
    error_type: str = ""
    error_message: str = ""
    error_without_numbers: str = ""
    input: str = ""
    output: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attachments: tuple[str, ...] = ()
    sanitized: bool = False
    caller: str = ""
    called: bool = False
    responses: tuple[ResponseRecord, ...] = ()
    steps: tuple[StepRecord, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        cut = ("truncated",) if self.stop_reason in TRUNCATING else ()
        marks = (("sanitized",) if self.sanitized else ()) + (("subagent",) if self.called else ())
        return self.progress() + cut + marks

    @property
    def metadata_text(self) -> str:
        """The names and values of the metadata, as they are searched for."""
        return metadata_text(self.metadata)


@dataclass(frozen=True, kw_only=True)
class SessionRecord(Counted, Judged):
    id: str
    name: str = ""
    api: str = ""
    source: str = ""
    started_us: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    turns: tuple[TurnRecord, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AgentRecord:
    """``name`` is that of its model where it has none."""

    id: str
    name: str = ""
    source: str = ""
    started_us: int | None = None
    sessions: tuple[SessionRecord, ...] = ()


Record = AgentRecord | SessionRecord | TurnRecord | ResponseRecord | StepRecord


@dataclass(frozen=True, kw_only=True)
class Row:
    """A record with those it is in: of a step its turn, session and their agent, and, where that is known, the
    response it was made in. ``agents`` are all there are, by their ids."""

    agent: AgentRecord | None = None
    session: SessionRecord | None = None
    turn: TurnRecord | None = None
    response: ResponseRecord | None = None
    step: StepRecord | None = None
    agents: Mapping[str, AgentRecord] = field(default_factory=dict)

    @property
    def level(self) -> Level:
        return next(level for level in reversed(LEVELS) if getattr(self, level) is not None)

    @property
    def record(self) -> Record:
        found: Record = getattr(self, self.level)
        return found

    def at(self, level: Level) -> list[Row]:
        """The rows of a level under this one, in order; the one above it; or itself."""
        if LEVELS.index(level) <= LEVELS.index(self.level):
            return self._above(level)
        below = self._below(level)
        return below if not below or below[0].level == level else [far for row in below for far in row.at(level)]

    def _above(self, level: Level) -> list[Row]:
        if level == "response" and self.response is None:
            return self._leg()
        if level == "agent" and self.step and self.step.agent:
            return [Row(agent=self.agents[self.step.agent], agents=self.agents)]
        kept = {name: getattr(self, name) for name in LEVELS[: LEVELS.index(level) + 1]}
        return [Row(**kept, agents=self.agents)] if kept[level] is not None else []

    def _leg(self) -> list[Row]:
        """The response a step was made in, found in its turn."""
        legs = self.turn.responses if self.turn else ()
        return [replace(self, response=leg, step=None) for leg in legs if self.step in leg.steps]

    def _below(self, level: Level) -> list[Row]:
        """The rows next below, on the way to a level: the steps of a turn are reached past its responses."""
        match self.record:
            case AgentRecord() if level == "step" and self.agents:
                return self._steps_of_agent()
            case AgentRecord(sessions=sessions):
                return [replace(self, session=session) for session in sessions]
            case SessionRecord(turns=turns):
                return [replace(self, turn=turn) for turn in turns]
            case TurnRecord(responses=responses) if level == "response":
                return [replace(self, response=response) for response in responses]
            case TurnRecord(steps=steps) | ResponseRecord(steps=steps):
                return [replace(self, step=step) for step in steps]
            case _:
                return []

    def _steps_of_agent(self) -> list[Row]:
        """What an agent did in its own turns and in those of others."""
        sessions = [replace(self, agent=agent, session=one) for agent in self.agents.values() for one in agent.sessions]
        steps = [step for one in sorted(sessions, key=lambda row: row.record.id) for step in one.at("step")]
        return [step for step in steps if step.at("agent")[0].agent == self.agent]
