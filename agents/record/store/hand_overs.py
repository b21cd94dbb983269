"""Which agent a turn was handed over to, by which step."""

from __future__ import annotations

from dataclasses import dataclass

from agents.base.store.sql import Insert, Select
from agents.base.store.writer import writer
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Agent
from agents.record.models.choices import Api
from agents.record.models.hand_overs import HandOver
from agents.record.models.turns import Turn

_TURN = Select(Turn, "api", "id = %s")
_CALL = Select(AgentCall, "turn_id", "turn_id = %s")
_LATEST = Select(HandOver, "agent_id revision_id", "turn_id = %s AND number < %s ORDER BY number DESC LIMIT 1")
_OF_TURN = Select(HandOver, "number agent_id", "turn_id = %s ORDER BY number")
_ADD = Insert(HandOver, "step_id turn_id number agent_id revision_id", once=True)


@dataclass(frozen=True, slots=True)
class NextAgent:
    """The agent that goes on with a turn, and the revision of its configuration."""

    agent: int
    revision: int


@dataclass(frozen=True, slots=True)
class Handing:
    """The call that hands a turn over: its step, and the number of the last step before the other agent's first."""

    step: int
    number: int


def add(turn: int, handing: Handing, to: NextAgent) -> None:
    """Store that a turn is handed over, once: runs that are taken over come by again. Nothing is stored of a turn that
    is not stored itself."""

    def job() -> None:
        row = _TURN.first(turn)
        if row is not None and row[0] != Api.UNSTORED:
            _ADD.execute(handing.step, turn, handing.number, to.agent, to.revision)

    writer.write(job)


def latest(turn: int, before_step: int) -> NextAgent | None:
    """Return whom a turn was handed over to last, before its step of that number. The caller has checked that the turn
    is visible."""
    row = _LATEST.first(turn, before_step)
    return NextAgent(*row) if row else None


def has_client(turn: int) -> bool:
    """Tell whether a turn has a client: one of a sub-agent has none."""
    return _CALL.first(turn) is None


def agent_names(turn: int) -> list[tuple[int, str]]:
    """Return the names of the agents that a turn was handed over to, in order, each with the number of the last step
    before its first. The caller has checked that the turn is visible."""
    rows = list(_OF_TURN.all(turn))
    agents = Agent.objects.unscoped("names only; the turn is visible").filter(pk__in={agent for _, agent in rows})
    names = dict(agents.values_list("pk", "name"))
    return [(number, names.get(agent, "")) for number, agent in rows]
