"""Places on the pages of the record that other subjects fill. Without them a place stays empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string

from agents.base.access import Actor
from agents.record.schemas.turns import StepSnapshot, TurnSnapshot
from agents.record.store.targets import RecordTarget


@dataclass(slots=True)
class Places:
    """Texts are HTML where they are called fragments.

    ``said_of``: a fragment, what people say of a record. ``said_of_steps``: by steps of a turn (session, turn), a
    fragment for each of which something was said; ``unsaid_of_step`` (session, turn, step) for each other.
    ``lineage``: what a turn was forked from, and what from it. ``origin``: where a step of a fork has its outcome from,
    in words. ``fork_url``: where a turn is forked from a step.
    """

    said_of: Callable[[Actor, RecordTarget], str] = lambda actor, about: ""
    said_of_steps: Callable[[Actor, int, int], Mapping[int, str]] = lambda actor, session, turn: {}
    unsaid_of_step: Callable[[int, int, int], str] = lambda session, turn, step: ""
    lineage: Callable[[Actor, int], Any] = lambda actor, turn: None
    origin: Callable[[StepSnapshot], str] = lambda step: ""
    fork_url: Callable[[TurnSnapshot, StepSnapshot], str] = lambda turn, step: ""


places = Places()


def later(function: str) -> Callable[..., Any]:
    """The function of this dotted name, imported when it is first called: commands start without pages."""

    def call(*given: Any) -> Any:
        return import_string(function)(*given)

    return call
