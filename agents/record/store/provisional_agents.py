"""Deletes agents that were no more than a name: reported for a turn that ran, until its sender named another.

Such an agent came with a report, nobody changed it since, and no row refers to it any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from django.apps import apps
from django.db.models import Exists, Model, OuterRef
from django.db.models.fields.related import ForeignKey

from agents.record.models.agents import Agent, AgentRevision
from agents.record.models.choices import EXTERNAL
from agents.record.store import removal


def delete_unused(keys: Collection[int]) -> None:
    """Delete those of these agents that are no more than a name, within the caller's transaction."""
    rows = Agent.objects.unscoped("those that turns have left").filter(
        pk__in=keys, source__in=EXTERNAL, disabled_at=None, unlisted=False, removed_at=None, revision__number=1
    )
    for table, field in _references():
        own = table._base_manager.filter(**{field: OuterRef("pk")})
        rows = rows.exclude(Exists(own.filter(number__gt=1) if table is AgentRevision else own))
    for key in sorted(rows.values_list("pk", flat=True)):
        removal.delete_agent(key)


@cache
def _references() -> tuple[tuple[Any, str], ...]:
    return tuple(_keys_of(Agent))


def _keys_of(target: type[Model]) -> Iterator[tuple[type[Model], str]]:
    """Yield the tables that refer to one, with their columns; each begins an index."""
    for table in apps.get_models():
        for field in table._meta.concrete_fields:
            if isinstance(field, ForeignKey) and field.related_model is target:
                yield table, field.name
