"""Places on the pages of the record that other subjects fill. Without them a place stays empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.base.access import Actor
from agents.record.schemas.origins import Origin
from agents.record.schemas.turns import StepValue, TurnValue
from agents.record.store.targets import About

if TYPE_CHECKING:
    from agents.pages.raw import Line


@dataclass(slots=True)
class Places:
    """Texts are HTML where they are called fragments.

    ``said_of``: a fragment, what people say of a record. ``said_of_steps``: by steps of a turn (session, turn), a
    fragment for each of which something was said; ``unsaid_of_step`` (session, turn, step) for each other.
    ``lineage``: what a turn was forked from, and what from it. ``origin``: where a step of a fork has its outcome from,
    in words. ``fork_url``: where a turn is forked from a step.
    ``turn_origin``: where a turn that ran elsewhere came from. ``agent_service``: the service in which an agent ran
    last. ``span_lines`` (turn, first): the spans of a turn from a number on, for the raw view, and how many there are.
    ``has_spans``: whether each span has a page of its own.
    """

    said_of: Callable[[Actor, About], str] = lambda actor, about: ""
    said_of_steps: Callable[[Actor, int, int], Mapping[int, str]] = lambda actor, session, turn: {}
    unsaid_of_step: Callable[[int, int, int], str] = lambda session, turn, step: ""
    lineage: Callable[[Actor, int], Any] = lambda actor, turn: None
    origin: Callable[[StepValue], str] = lambda step: ""
    fork_url: Callable[[TurnValue, StepValue], str] = lambda turn, step: ""
    turn_origin: Callable[[int], Origin] = lambda turn: Origin()
    agent_service: Callable[[int], str] = lambda agent: ""
    span_lines: Callable[[TurnValue, int], tuple[Sequence[Line], int]] = lambda turn, first: ((), 0)
    has_spans: bool = False


places = Places()
