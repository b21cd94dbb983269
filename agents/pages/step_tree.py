"""The tree of a turn's steps: which lies in which, when each ran, and what it used, alone and with all inside of it.

Steps of external agents lie in one another; the turns of sub-agents lie in the steps that called them. Both are drawn
on the time axis of `agents.pages.timeline`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from django.utils.translation import gettext as _

from agents.base import ids
from agents.pages import timeline
from agents.pages.timeline import StepBar, Timeline
from agents.pages.turn_page_data import TurnPageData
from agents.record.schemas.events import StepStatus
from agents.record.schemas.turns import StepSnapshot
from agents.record.store import step_pages
from agents.record.store.call_trees import CalledTurn
from agents.record.store.step_pages import StepSums
from agents.uikit import format
from agents.uikit.links import at


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A step or a called turn as a row of the tree. ``id`` is its anchor, ``url`` what choosing it leads to, ``level``
    counts from 1. Tokens and cost are formatted: its own, and ``in_all`` with what is inside of it, empty where that
    is the same. ``most_time`` and ``most_cost``: no other row of the page took as much itself."""

    id: str
    url: str
    bar: StepBar
    level: int
    holds: bool
    chosen: bool
    tokens: str
    tokens_in_all: str
    cost: str
    cost_in_all: str
    is_turn: bool = False
    most_time: bool = False
    most_cost: bool = False


@dataclass(frozen=True, slots=True)
class DrawnTree:
    timeline: Timeline
    nodes: tuple[TreeNode, ...]


def drawn(page: TurnPageData) -> DrawnTree:
    """The tree of a page's steps."""
    steps = page.recovery.as_waiting(page.steps) if page.marks.doubtful is not None else page.steps
    turns = dict(_visible_calls(page, steps))
    rows = [*steps, *turns.values()]
    children = _children(rows)
    depths = step_pages.depths(page.steps)
    order = list(_depth_first(children[None], children, depths))
    axis = timeline.timeline(
        page.turn, ids.now_us(), rows, span=page.page_params.span, depths={row.key: depth for row, depth in order}
    )
    bars = {row.key: bar for row, bar in zip(rows, axis.bars, strict=True)}
    sums = _sums(page)
    called = {turn.key: turn for turn in page.calls.called if turn.key in turns}
    longest, most_expensive = _most(steps)
    nodes = [
        replace(
            _node(page, row, bars[row.key], sums.get(row.key), called.get(row.key)),
            level=depth + 1,
            holds=bool(children.get(row.key)),
            most_time=row.key == longest,
            most_cost=row.key == most_expensive,
        )
        for row, depth in order
    ]
    return DrawnTree(axis, tuple(nodes))


_STATUSES: Mapping[str, StepStatus] = {name: name for name in get_args(StepStatus)}


def _visible_calls(page: TurnPageData, steps: Sequence[StepSnapshot]) -> Iterator[tuple[int, StepSnapshot]]:
    """The turns below the steps of the page, by key, in the form of steps: each lies in the step that called it, one
    that was called by another called turn lies in that."""
    keys = {step.key for step in steps}
    for turn in page.calls.called:  # a turn comes after its caller
        holder = turn.step if turn.parent == page.turn.key else turn.parent
        if holder in keys:
            keys.add(turn.key)
            yield turn.key, _as_step(turn, holder)


def _as_step(turn: CalledTurn, holder: int) -> StepSnapshot:
    return StepSnapshot(
        key=turn.key,
        number=-1,
        round=0,
        type="other",
        name=turn.agent,
        status=_STATUSES.get(turn.status, "in_progress"),
        server_side=True,
        started_at=turn.started_at,
        completed_at=turn.completed_at,
        parent=holder,
        cost_nano=turn.cost_nano,
    )


def _children(rows: Sequence[StepSnapshot]) -> dict[int | None, list[StepSnapshot]]:
    """The rows by the row that they lie in; under None those that lie in none of the page."""
    keys = {row.key for row in rows}
    children: dict[int | None, list[StepSnapshot]] = {None: []}
    for row in rows:
        children.setdefault(row.parent if row.parent in keys else None, []).append(row)
    return children


def _depth_first(
    rows: Sequence[StepSnapshot], children: Mapping[int | None, list[StepSnapshot]], depths: Mapping[int, int]
) -> Iterator[tuple[StepSnapshot, int]]:
    """Each row with its depth, before what lies in it."""
    waiting = [(row, depths.get(row.key, 0)) for row in reversed(rows)]
    while waiting:
        row, depth = waiting.pop()
        yield row, depth
        waiting += [(inner, depth + 1) for inner in reversed(children.get(row.key, ()))]


def _sums(page: TurnPageData) -> dict[int, StepSums]:
    """What lies in each row has used, by the key of the row; the steps of other pages are counted too."""
    inside = {} if page.about is None else step_pages.sums_inside(page.turn.key)
    for turn in page.calls.called:
        below = StepSums(turn.tokens, turn.cost_nano)
        for key in _callers(page, turn):
            inside[key] = inside.get(key, StepSums()) + below
    return inside


def _callers(page: TurnPageData, turn: CalledTurn) -> Iterator[int]:
    """The steps and turns that a called turn lies in, from the inside."""
    turns = {called.key: called for called in page.calls.called}
    current: CalledTurn | None = turn
    while current is not None:
        yield current.step
        current = turns.get(current.parent)
        if current is not None:
            yield current.key


def _most(steps: Sequence[StepSnapshot]) -> tuple[int | None, int | None]:
    """The keys of the steps that took most time and most cost, of several: a wait is nobody's work."""
    work = [step for step in steps if step.server_side and step.completed_at and step.type != "other"]
    costs = [step for step in steps if step.cost_nano]
    longest = max(work, key=lambda step: (step.completed_at or 0) - step.started_at).key if len(work) > 1 else None
    return longest, max(costs, key=lambda step: step.cost_nano or 0).key if len(costs) > 1 else None


def _node(
    page: TurnPageData, row: StepSnapshot, bar: StepBar, inside: StepSums | None, turn: CalledTurn | None
) -> TreeNode:
    own = StepSums(row.usage.input_tokens + row.usage.output_tokens if turn is None else turn.tokens, row.cost_nano)
    in_all = own + inside if inside is not None else own
    public_id = ids.public(ids.Kind.TURN, row.key) if turn is not None else ""
    return TreeNode(
        id=f"called-{public_id}" if turn is not None else f"step-{row.number}",
        url=at(f"/turns/{public_id}/?view=timeline") if turn is not None else page.step_query(row.number),
        bar=bar if turn is None else replace(bar, label=_("Sub-agent"), status=turn.status),
        level=1,
        holds=False,
        chosen=turn is None and row.number == page.chosen,
        tokens=format.count(own.tokens) if own.tokens else "",
        tokens_in_all=format.count(in_all.tokens) if in_all.tokens != own.tokens else "",
        cost="" if own.cost_nano is None else format.cost(own.cost_nano / 1e9),
        cost_in_all=format.cost(in_all.cost_nano / 1e9)
        if in_all.cost_nano is not None and in_all.cost_nano != own.cost_nano
        else "",
        is_turn=turn is not None,
    )
