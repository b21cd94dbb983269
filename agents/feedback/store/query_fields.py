"""What queries ask of feedback: ratings, scores and comments, as fields and as conditions on the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import F, Q

from agents.base.models.terms import TermKind
from agents.base.words import index_text, words
from agents.feedback.models import Feedback, Rating
from agents.logs.store.conditions import NOTHING, amount, fits
from agents.logs.store.levels.kinds import Terms
from agents.logs.store.levels.relations import Sight
from agents.query.fields import Field, at
from agents.query.tree import Level, Words
from agents.query.tree import Term as TermNode

_LEVELS = "session turn step"
FIELDS = (
    Field(
        "rating",
        "choice",
        at(_LEVELS, "ratings"),
        "thumbs of people",
        "down",
        "rated {}",
        choices=("up", "down"),
        many=True,
    ),
    Field(
        "score",
        "number",
        at(_LEVELS, "scores"),
        "a score it was given, by name",
        ">0.8",
        "with {}",
        unit="any",
        many=True,
        keyed=True,
        key="helpful",
    ),
    Field("comment", "text", at(_LEVELS, "comments"), "what people noted", "wrong", "noted {}", many=True),
)


def _terms(of: Callable[[], Any], column: str) -> Terms:
    """What people said of these rows: ``of`` are the judgements of this level, ``column`` names its row."""

    def having(condition: Q) -> Q:
        return Q(pk__in=of().filter(condition).values(column))

    def rating(node: TermNode, sight: Sight) -> Q:
        known = having(Q(rating__isnull=False))
        found = having(Q(rating__in=[each.value for each in Rating if fits(node.value, each.label)]))
        return known if node.op == "has" else known & ~found if node.op == "!=" else found

    def score(node: TermNode, sight: Sight) -> Q:
        called = Q(name__kind=int(TermKind.SCORE), name__value=str(node.path[0]) if len(node.path) == 1 else "")
        if node.op == "!=":
            return having(called) & ~having(called & amount(F("value"))(node.model_copy(update={"op": "="})))
        return having(called & amount(F("value"))(node))

    def comment(node: TermNode, sight: Sight) -> Q:
        known = having(~Q(comment=""))
        if not isinstance(node.value, Words):
            return known
        found = having(~Q(comment="") & _said(node.value, exact=node.op != "contains"))
        return known & ~found if node.op == "!=" else found

    return {"rating": rating, "score": score, "comment": comment}


def _said(value: Words, *, exact: bool) -> Q:
    text = index_text(value.text)
    if exact:
        return Q(words=f" {text} ")
    if not words(value.text):
        return NOTHING
    return Q(words__contains=text if value.inside else f" {text}{'' if value.prefix else ' '}")


def _judged(column: str) -> Callable[[], Any]:
    """The judgements of sessions, turns or steps themselves, and not of what is below them."""
    below = {"session_id": Q(turn=None), "turn_id": Q(turn__isnull=False, step=None), "step_id": Q(step__isnull=False)}
    return lambda: Feedback.objects.filter(below[column])


TERMS: Mapping[Level, Terms] = {
    "session": _terms(_judged("session_id"), "session_id"),
    "turn": _terms(_judged("turn_id"), "turn_id"),
    "step": _terms(_judged("step_id"), "step_id"),
}
