"""Reads what people said of the rows of lists: counts of ratings and comments, and the mean of each score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from agents.base.access import Actor
from agents.base.store import terms
from agents.base.store.sql import SelectAmong
from agents.feedback.models import Feedback, Rating
from agents.feedback.store.query_fields import COLUMNS, feedback_on
from agents.logs.schemas.rows import RowFeedback
from agents.logs.store import listing
from agents.query.tree import Level

SAMPLE = 200
"""How many of the newest rows are asked for the names of their scores."""
MAX_NAMES = 5

_OWN: Mapping[Level, str] = {
    "session": "turn_id IS NULL",
    "turn": "turn_id IS NOT NULL AND step_id IS NULL",
    "step": "step_id IS NOT NULL",
}
"""By level, what feedback on rows themselves is: `feedback_on` in SQL."""
_ENTRIES = {
    level: SelectAmong(Feedback, f"{column} rating name_id value comment", column, _OWN[level], "id")
    for level, column in COLUMNS.items()
}
_Entry = tuple[int | None, int | None, float | None, bool]
"""(rating, key of the score's name, its value, whether it has a comment)."""


def of_rows(level: Level, keys: Sequence[int]) -> Mapping[int, RowFeedback]:
    """Return the feedback on rows themselves, without that on rows below them, by their keys; rows without any are
    left out."""
    if level not in COLUMNS:
        return {}
    entries: defaultdict[int, list[_Entry]] = defaultdict(list)
    for key, rating, name, value, comment in _ENTRIES[level].all(keys):
        entries[key].append((rating, name, value, bool(comment)))
    return {key: _feedback(own) for key, own in entries.items()}


def _feedback(entries: Sequence[_Entry]) -> RowFeedback:
    scores: defaultdict[int, list[float]] = defaultdict(list)
    for _rating, name, value, _comment in entries:
        if name is not None and value is not None:
            scores[name].append(value)
    names = terms.texts({*scores})
    return RowFeedback(
        up=sum(rating == Rating.UP for rating, *_ in entries),
        down=sum(rating == Rating.DOWN for rating, *_ in entries),
        comments=sum(comment for *_, comment in entries),
        scores={names[name]: fmean(values) for name, values in scores.items()},
    )


def score_names(level: Level, actor: Actor) -> Sequence[str]:
    """Return the names of the scores that the newest rows of a level have which an actor may see, in order."""
    if level not in COLUMNS or not Feedback.objects.filter(name__isnull=False).exists():
        return []
    newest = list(listing.visible(level, actor).order_by("-pk").values_list("pk", flat=True)[:SAMPLE])
    scored = feedback_on(level).filter(**{f"{COLUMNS[level]}__in": newest}, name__isnull=False)
    return sorted(scored.values_list("name__value", flat=True).distinct())[:MAX_NAMES]
