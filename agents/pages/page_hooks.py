"""Hooks through which other subjects add to the pages of the record. A hook that is not set adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.base.access import Actor
from agents.record.models.choices import BudgetTarget
from agents.record.schemas.origins import SpanOrigin
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store.targets import RecordTarget

if TYPE_CHECKING:
    from agents.pages.raw_view import RawLine


@dataclass(slots=True)
class PageHooks:
    """The hooks. A fragment is rendered HTML.

    ``feedback_section``: a fragment with the feedback on a record. ``step_feedback``: fragments by step of a turn
    (session, turn), for steps with feedback; ``empty_step_feedback`` (session, turn, step): the fragment of any other.
    ``lineage``: the turn that a turn was forked from, and its forks. ``origin``: a label saying where a step of a fork
    has its outcome from. ``fork_url``: the URL for forking a turn from a step.
    ``turn_origin``: the origin of the spans of an external turn. ``agent_service``: the service in which an agent ran
    last. ``span_lines`` (turn, first): the spans of a turn from a number on, for the raw view, and how many there are.
    ``has_spans``: whether each span has a page of its own. ``budget_section``: a fragment with the budgets of a session
    or an agent.
    """

    feedback_section: Callable[[Actor, RecordTarget], str] = lambda actor, about: ""
    step_feedback: Callable[[Actor, int, int], Mapping[int, str]] = lambda actor, session, turn: {}
    empty_step_feedback: Callable[[int, int, int], str] = lambda session, turn, step: ""
    lineage: Callable[[Actor, int], Any] = lambda actor, turn: None
    origin: Callable[[StepSnapshot], str] = lambda step: ""
    fork_url: Callable[[TurnSnapshot, StepSnapshot], str] = lambda turn, step: ""
    turn_origin: Callable[[int], SpanOrigin] = lambda turn: SpanOrigin()
    agent_service: Callable[[int], str] = lambda agent: ""
    span_lines: Callable[[TurnSnapshot, int], tuple[Sequence[RawLine], int]] = lambda turn, first: ((), 0)
    has_spans: bool = False
    budget_section: Callable[[Actor, BudgetTarget, int], str] = lambda actor, target, key: ""


hooks = PageHooks()
