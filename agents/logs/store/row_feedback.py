"""What people said of the rows of lists: a subject above reads it; without one there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agents.base.access import Actor
from agents.logs.schemas.rows import RowFeedback
from agents.query.tree import Level

NO_FEEDBACK = RowFeedback()


def _of_nothing(level: Level, keys: Sequence[int]) -> Mapping[int, RowFeedback]:
    return {}


def _no_names(level: Level, actor: Actor) -> Sequence[str]:
    return ()


@dataclass(slots=True)
class FeedbackReader:
    """``of_rows`` returns the feedback on rows by their keys, without those that have none; ``score_names`` the names
    of the scores that the newest rows an actor may see have."""

    of_rows: Callable[[Level, Sequence[int]], Mapping[int, RowFeedback]] = _of_nothing
    score_names: Callable[[Level, Actor], Sequence[str]] = _no_names


reader = FeedbackReader()
