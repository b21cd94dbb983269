"""The turns of sub-agents on pages: below the steps that called them, in sums, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.base import ids
from agents.base.access import Actor
from agents.logs.pages.turn_summary import LIVE
from agents.logs.schemas.rows import TurnRow
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import call_trees
from agents.record.store.call_trees import CalledTurn, CallingStep, CallTree
from agents.uikit.links import at
from agents.uikit.templates import fragment


@dataclass(frozen=True, slots=True)
class CalledTurnView:
    """A called turn for its template, with those ``below`` it."""

    url: str
    agent: str
    status: str
    duration_ms: float | None
    running: bool
    tokens: int
    cost_usd: float | None
    below: tuple[CalledTurnView, ...]


@dataclass(frozen=True, slots=True)
class TreeSums:
    """What a turn and all below it have used, and how many turns are below it."""

    count: int
    tokens: int
    cost_usd: float | None


def tree_of(actor: Actor, row: TurnRow) -> CallTree:
    """The turns below a turn; a turn that has called no tool has none."""
    return call_trees.below(actor, row.id) if row.counts.tools else CallTree(row.id)


def sums(row: TurnRow, tree: CallTree) -> TreeSums | None:
    """The sums of a turn and those below it; None where there are none."""
    if not tree.called:
        return None
    costs = [row.cost_usd, None if tree.cost_nano is None else tree.cost_nano / 1e9]
    total = sum(cost for cost in costs if cost is not None) if any(cost is not None for cost in costs) else None
    return TreeSums(len(tree.called), (row.usage.total_tokens or 0) + tree.tokens, total)


def below_step(step: StepSnapshot, tree: CallTree) -> str:
    """The turns that a step has called, as HTML; a placeholder while it may still call turn."""
    called = tree.of_step(step.key)
    if not called and not (step.type == "tool_execution" and step.status == "in_progress"):
        return ""
    step_id = ids.public(ids.Kind.STEP, step.key)
    return fragment("pages/_called_turns.html", step_id=step_id, called=_views(called, tree))


def _views(called: Sequence[CalledTurn], tree: CallTree) -> tuple[CalledTurnView, ...]:
    return tuple(_view(turn, tree) for turn in called)


def _view(turn: CalledTurn, tree: CallTree) -> CalledTurnView:
    running, end = turn.status in LIVE, turn.completed_at
    if running:
        end = ids.now_us()
    return CalledTurnView(
        url=_url(turn.key),
        agent=turn.agent,
        status=turn.status,
        duration_ms=None if end is None else max(end - turn.started_at, 0) / 1000,
        running=running,
        tokens=turn.tokens,
        cost_usd=None if turn.cost_nano is None else turn.cost_nano / 1e9,
        below=_views(tree.of_turn(turn.key), tree),
    )


@dataclass(frozen=True, slots=True)
class CallerView:
    """The way back to what called a turn: ``url`` is empty where that is gone, or not for this reader."""

    url: str
    agent: str = ""


def caller_of(actor: Actor, turn: int) -> CallerView | None:
    """The step that called a turn; None where nobody did."""
    calling = call_trees.caller(actor, turn)
    return None if calling is None else _caller_view(calling)


def caller_of_session(actor: Actor, session: int) -> CallerView | None:
    """The step whose call began a session; None for any other session."""
    first = call_trees.first_of_session(session)
    return None if first is None else caller_of(actor, first)


def _caller_view(calling: CallingStep) -> CallerView:
    if calling.turn is None:
        return CallerView("")
    anchor = "" if calling.number is None else f"#step-{calling.number}"
    return CallerView(f"{_url(calling.turn)}{anchor}", calling.agent)


def _url(turn: int) -> str:
    return at(f"/turns/{ids.public(ids.Kind.TURN, turn)}/")
