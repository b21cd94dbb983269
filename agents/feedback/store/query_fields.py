"""The query fields of feedback: ratings, scores and comments, with their conditions on the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.db.models import F, Q

from agents.base.models.terms import TermKind
from agents.base.tokenizer import index_text, tokens
from agents.feedback.models import Feedback, Rating
from agents.logs.store.conditions import NOTHING, amount, value_matches
from agents.logs.store.levels.relations import QueryContext
from agents.logs.store.levels.shared_terms import Terms
from agents.query.fields import QueryField, at
from agents.query.tree import FieldTerm, Level, SearchPhrase

_LEVELS = "session turn step"
FIELDS = (
    QueryField(
        "rating",
        "choice",
        at(_LEVELS),
        "ratings by people",
        "down",
        "rated {}",
        choices=("up", "down"),
        many=True,
    ),
    QueryField(
        "score",
        "number",
        at(_LEVELS),
        "a score it was given, by name",
        ">0.8",
        "with {}",
        unit="any",
        many=True,
        keyed=True,
        key="helpful",
    ),
    QueryField("comment", "text", at(_LEVELS), "comments of people", "wrong", "noted {}", many=True),
)


def _terms(entries: Callable[[], Any], column: str) -> Terms:
    """Build the terms on feedback: ``entries`` are those on rows of a level, ``column`` names the row."""

    def having(condition: Q) -> Q:
        return Q(pk__in=entries().filter(condition).values(column))

    def rating(node: FieldTerm, context: QueryContext) -> Q:
        rated = having(Q(rating__isnull=False))
        matching = having(Q(rating__in=[choice.value for choice in Rating if value_matches(node.value, choice.label)]))
        return rated if node.op == "has" else rated & ~matching if node.op == "!=" else matching

    def score(node: FieldTerm, context: QueryContext) -> Q:
        named = Q(name__kind=int(TermKind.SCORE), name__value=str(node.path[0]) if len(node.path) == 1 else "")
        if node.op == "!=":
            return having(named) & ~having(named & amount(F("value"))(node.model_copy(update={"op": "="})))
        return having(named & amount(F("value"))(node))

    def comment(node: FieldTerm, context: QueryContext) -> Q:
        commented = having(~Q(comment=""))
        if not isinstance(node.value, SearchPhrase):
            return commented
        matching = having(~Q(comment="") & _comment_matches(node.value, exact=node.op != "contains"))
        return commented & ~matching if node.op == "!=" else matching

    return {"rating": rating, "score": score, "comment": comment}


def _comment_matches(value: SearchPhrase, *, exact: bool) -> Q:
    text = index_text(value.text)
    if exact:
        return Q(words=f" {text} ")
    if not tokens(value.text):
        return NOTHING
    return Q(words__contains=text if value.inside else f" {text}{'' if value.prefix else ' '}")


COLUMNS: Mapping[Level, str] = {"session": "session_id", "turn": "turn_id", "step": "step_id"}
"""By level of rows that feedback is given on, the column that refers to them."""
_OWN: Mapping[Level, Q] = {
    "session": Q(turn=None),
    "turn": Q(turn__isnull=False, step=None),
    "step": Q(step__isnull=False),
}


def feedback_on(level: Level) -> Any:
    """Return a query of the feedback on rows of a level themselves, without that on rows below them."""
    return Feedback.objects.filter(_OWN[level])


TERMS: Mapping[Level, Terms] = {level: _terms(partial(feedback_on, level), column) for level, column in COLUMNS.items()}
