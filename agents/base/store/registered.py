"""Registries of named resources, such as shields and models, with visibility.

Names are per visibility: a row of the same name that the actor cannot see is neither revealed nor in the
way. An actor that sees several rows of a name uses the oldest, so that nobody can replace it by another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, NotFound
from agents.base.models.fields import storable
from agents.base.models.registered import Registered
from agents.base.store import scopes
from agents.base.store.sql import VisibleRow
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime

MAX_LISTED = 1000


@dataclass(frozen=True, slots=True)
class Registration:
    """A registered resource: ``resource`` is its name at the ``provider``."""

    identifier: str
    provider: str
    resource: str = ""
    params: dict[str, Any] = field(default_factory=dict)


class Registry:
    """One table of registrations; ``noun`` names its rows to people."""

    def __init__(self, table: type[Registered], noun: str) -> None:
        self._table, self._noun = table, noun
        self._by_name = VisibleRow(table, "identifier provider resource params", by="identifier")

    def find(self, actor: Actor, identifier: str, action: Action = "read") -> Registration | None:
        """Return the registration of this name that the actor may see, None if there is none."""
        row = self._by_name.get(actor, storable(identifier), action)
        if row is None:
            return None
        name, provider, resource, params = row
        return Registration(name, provider, resource, json.loads(params))

    def listing(self, actor: Actor, action: Action = "read") -> list[Registration]:
        """List what the actor may see, the oldest first, each name once; at most `MAX_LISTED` rows."""
        registrations: dict[str, Registration] = {}
        for row in self._rows(actor, action).order_by("id")[:MAX_LISTED]:
            registrations.setdefault(row.identifier, _registration(row))
        return list(registrations.values())

    def add(self, actor: Actor, new: Registration) -> int:
        """Add a registration; returns its key. The same again changes nothing; a different one under a name that the
        actor sees raises Conflict."""
        try:
            return writer.write(lambda: self._add(actor, new))
        except IntegrityError as error:  # another process was first
            raise self._name_conflict(new) from error

    def _add(self, actor: Actor, new: Registration) -> int:
        existing = self._rows(actor, "manage").filter(identifier=new.identifier).order_by("id").first()
        if existing is not None and _registration(existing) == new:
            return int(existing.pk)
        if existing is not None:
            raise self._name_conflict(new)
        row = self._table(
            identifier=new.identifier,
            provider=new.provider,
            resource=new.resource,
            params=new.params,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            created_at=to_datetime(ids.now_us()),
        )
        row.save(force_insert=True)
        return int(row.pk)

    def revise(self, actor: Actor, key: int, new: Registration) -> None:
        """Change a registration and keep its name: users of the name get the new one. Raises NotFound."""
        changes = {"provider": new.provider, "resource": new.resource, "params": new.params}
        self._change(actor, key, lambda rows: int(rows.update(**changes)))

    def delete(self, actor: Actor, identifier: str) -> None:
        """Delete the registration of this name. Raises NotFound."""

        def job() -> int:
            rows = self._rows(actor, "manage").filter(identifier=identifier).order_by("id")
            keys = list(rows.values_list("pk", flat=True)[:1])
            return self._table.objects.unscoped("checked above").filter(pk__in=keys).delete()[0]

        if not writer.write(job):
            raise NotFound(f"{self._noun} '{identifier[:200]}' not found.")

    def drop(self, actor: Actor, key: int) -> None:
        """Delete a registration by key: of several with one name, it need not be the one in use. Raises NotFound."""
        self._change(actor, key, lambda rows: int(rows.delete()[0]))

    def _change(self, actor: Actor, key: int, change: Callable[[Any], int]) -> None:
        def job() -> int:
            keys = list(self._rows(actor, "manage").filter(pk=key).values_list("pk", flat=True))
            return change(self._table.objects.unscoped("checked above").filter(pk__in=keys))

        if not writer.write(job):
            raise NotFound(f"This {self._noun.lower()} was not found.")

    def _name_conflict(self, new: Registration) -> Conflict:
        message = f"{self._noun} '{new.identifier[:200]}' is registered already, otherwise than this; delete it first."
        return Conflict(message, code="already_registered")

    def _rows(self, actor: Actor, action: Action = "read") -> Any:
        return self._table.objects.visible_to(actor, action)


def _registration(row: Registered) -> Registration:
    return Registration(row.identifier, row.provider, row.resource, row.params)
