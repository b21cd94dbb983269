"""Which steps of a turn took most of its time and its cost: short lists with bars, of steps that are read anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from agents.logs.pages import turn_summary
from agents.pages.turn_page_data import TurnPageData
from agents.record.schemas.turns import StepSnapshot
from agents.uikit import format
from agents.uikit.elements import type_label

MAX_SHARES = 5
"""Steps in a list; of a turn with no more of them the timeline says how long each took."""


@dataclass(frozen=True, slots=True)
class StepShare:
    """A step in a list: ``percent`` of the largest."""

    url: str
    type: str
    label: str
    name: str
    percent: float
    text: str


@dataclass(frozen=True, slots=True)
class StepShares:
    title: str
    shares: tuple[StepShare, ...]


def of_steps(page: TurnPageData) -> list[StepShares]:
    """The lists that say more than the sums of the turn; their links lead to steps in the view that is open."""
    steps = page.steps
    times = [(step, step.completed_at - step.started_at) for step in steps if step.completed_at and step.server_side]
    costs = [(step, step.cost_nano) for step in steps if step.cost_nano]
    lists = []
    if len(times) > MAX_SHARES:
        lists.append(StepShares(_("Where the time went"), _largest(page, times, lambda us: format.duration(us / 1000))))
    if len(costs) > 1:
        lists.append(StepShares(_("Where the cost went"), _largest(page, costs, lambda nano: format.cost(nano / 1e9))))
    return lists


def _largest(
    page: TurnPageData, amounts: Iterable[tuple[StepSnapshot, int]], text: Callable[[int], str]
) -> tuple[StepShare, ...]:
    largest = sorted(amounts, key=lambda pair: -pair[1])[:MAX_SHARES]
    most = max(largest[0][1], 1)
    return tuple(
        StepShare(
            url=page.step_query(step.number)
            if page.page_params.view == "timeline"
            else turn_summary.step_url(page.turn, step.number),
            type=step.type,
            label=f"{step.number + 1} · {type_label(step.type)}",
            name=step.name,
            percent=round(100 * max(amount, 0) / most, 1),
            text=text(amount),
        )
        for step, amount in largest
    )
