"""Hooks through which other subjects add to the pages of the record. A hook that is not set adds nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string

from agents.base.access import Actor
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store.targets import RecordTarget


@dataclass(slots=True)
class PageHooks:
    """The hooks. A fragment is rendered HTML.

    ``feedback_section``: a fragment with the feedback on a record. ``step_feedback``: fragments by step of a turn
    (session, turn), for steps with feedback; ``empty_step_feedback`` (session, turn, step): the fragment of any other.
    ``lineage``: the turn that a turn was forked from, and its forks. ``origin``: a label saying where a step of a fork
    has its outcome from. ``fork_url``: the URL for forking a turn from a step.
    """

    feedback_section: Callable[[Actor, RecordTarget], str] = lambda actor, about: ""
    step_feedback: Callable[[Actor, int, int], Mapping[int, str]] = lambda actor, session, turn: {}
    empty_step_feedback: Callable[[int, int, int], str] = lambda session, turn, step: ""
    lineage: Callable[[Actor, int], Any] = lambda actor, turn: None
    origin: Callable[[StepSnapshot], str] = lambda step: ""
    fork_url: Callable[[TurnSnapshot, StepSnapshot], str] = lambda turn, step: ""


hooks = PageHooks()


def lazy_import(function: str) -> Callable[..., Any]:
    """A function that imports the one with this dotted name when called, so that commands start without pages."""

    def call(*arguments: Any) -> Any:
        return import_string(function)(*arguments)

    return call
