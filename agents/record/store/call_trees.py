"""Reads what turns have called: the tree of turns below one, and the turn that called it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base.access import Actor
from agents.base.store import terms
from agents.base.timestamps import to_us
from agents.record.models.agent_calls import AgentCall
from agents.record.models.agents import Agent
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Step, Turn
from agents.record.store import agent_calls


@dataclass(frozen=True, slots=True)
class CalledTurn:
    """A turn that answers a call of the ``step`` of the turn ``parent``; ``agent`` is the name of its agent, or of its
    model. Tokens and cost are its own; times are microseconds."""

    key: int
    session: int
    parent: int
    step: int
    agent: str
    status: str
    started_at: int
    completed_at: int | None
    tokens: int
    cost_nano: int | None


@dataclass(frozen=True, slots=True)
class CallTree:
    """The turns below a turn, in the order of the steps that called them."""

    turn: int
    called: Sequence[CalledTurn] = ()

    @property
    def tokens(self) -> int:
        """The tokens of all of them."""
        return sum(called.tokens for called in self.called)

    @property
    def cost_nano(self) -> int | None:
        """The known cost of all of them; None while none is known."""
        costs = [called.cost_nano for called in self.called if called.cost_nano is not None]
        return sum(costs) if costs else None

    def of_turn(self, turn: int) -> list[CalledTurn]:
        """Return those that a turn has called itself."""
        return [called for called in self.called if called.parent == turn]

    def of_step(self, step: int) -> list[CalledTurn]:
        """Return those that answer the call of a step."""
        return [called for called in self.called if called.step == step]


NO_CALLS = CallTree(0)
_COLUMNS = (
    *("turn_id", "turn__session_id", "parent_id", "step_id", "turn__agent_id", "turn__model_id", "turn__status"),
    *("turn__started_at", "turn__completed_at", "turn__input_tokens", "turn__output_tokens", "turn__cost_nano"),
)


def below(actor: Actor, turn: int) -> CallTree:
    """Return the tree below a turn, as far as the actor may see it."""
    rows = AgentCall.objects.visible_to(actor).filter(root_id=agent_calls.root_of(turn)).order_by("turn_id")
    all_rows = list(rows.values_list(*_COLUMNS))
    inside, inner_rows = {turn}, []
    for row in all_rows:  # a turn comes after its caller
        if row[2] in inside:
            inside.add(row[0])
            inner_rows.append(row)
    agents = Agent.objects.unscoped("names only; the turns are visible").filter(pk__in={row[4] for row in inner_rows})
    names = dict(agents.values_list("pk", "name"))
    models = terms.texts({row[5] for row in inner_rows})
    return CallTree(
        turn,
        [
            CalledTurn(
                key=row[0],
                session=row[1],
                parent=row[2],
                step=row[3],
                agent=names.get(row[4]) or models[row[5]],
                status=TurnStatus(row[6]).label,
                started_at=to_us(row[7]),
                completed_at=to_us(row[8]) if row[8] else None,
                tokens=row[9] + row[10],
                cost_nano=row[11],
            )
            for row in sorted(inner_rows, key=lambda row: row[3])
        ],
    )


@dataclass(frozen=True, slots=True)
class CallingStep:
    """What called a turn: the step, by its number in the turn ``turn``; both are None where that is gone, or the actor
    may not see it."""

    turn: int | None
    number: int | None
    agent: str = ""


def caller(actor: Actor, turn: int) -> CallingStep | None:
    """Return what called a turn; None where nobody did. The caller has checked that the turn is visible."""
    rows = AgentCall.objects.unscoped("its turn is visible").filter(pk=turn)
    row = rows.values_list("parent_id", "step_id").first()
    if row is None:
        return None
    parent = Turn.objects.visible_to(actor).filter(pk=row[0]).values_list("agent__name", "model_id").first()
    if parent is None:
        return CallingStep(None, None)
    number = Step.objects.unscoped("its turn is visible").filter(pk=row[1]).values_list("number", flat=True).first()
    return CallingStep(row[0], number, parent[0] or terms.texts({parent[1]})[parent[1]])


def first_of_session(session: int) -> int | None:
    """Return the turn of a session that a sub-agent began. The caller has checked that it is visible."""
    rows = AgentCall.objects.unscoped("its session is visible").filter(turn__session_id=session)
    key: int | None = rows.order_by("turn_id").values_list("turn_id", flat=True).first()
    return key
