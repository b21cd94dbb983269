"""Turns that a query takes, for those who know the language but not how its fields stand in the tables.

The subject ``logs`` knows that: it hands its conditions in when it is installed.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import Q, QuerySet

from agents.base.access import Actor
from agents.query.tree import Query
from agents.record.models.turns import Turn

Condition = Callable[[Query, Actor], Q]
_condition: Condition | None = None


def use_conditions(condition: Condition) -> None:
    """Set what makes a condition on rows of a query."""
    global _condition
    _condition = condition


def turns(query: Query, actor: Actor) -> QuerySet[Turn]:
    """Return the turns of a query over turns that the actor sees. Raises Unavailable when looking into JSON takes too
    long."""
    assert _condition is not None  # the logs are always installed
    return Turn.objects.visible_to(actor).filter(_condition(query, actor))
