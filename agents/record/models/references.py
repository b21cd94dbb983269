"""Declares how a row refers to a record, and what becomes of it when the record is deleted.

A foreign key to a session, turn, step or response declares that by its ``on_delete``; `agents.record.store.references`
makes the statements of it. Three values are allowed:

* ``CASCADE``: the row is deleted with the record;
* ``SET_NULL``: the column is cleared;
* a `DeletionRule`, where either of these does not say enough.

The database must find the rows of a deleted record by an index that begins with the column. A column without one
has no constraint, and a rule with ``within``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.migrations.serializer import BaseSerializer, Serializer, serializer_factory

OnDelete = Callable[..., Any]
"""One of Django's ``CASCADE``, ``SET_NULL``, ``DO_NOTHING``."""


class DeletionRule:
    """A value for ``on_delete`` that says more than one of Django's. Django itself, its checks and its migrations
    take it for ``on_delete``.

    ``within`` is a path of fields (``turn``, ``turn__session``) that leads from the row and from what it refers to
    to the same record: the row is deleted with that record, so that the reference needs no statement of its own then.
    ``merged`` is what becomes of a reference to a step that goes while its turn stays, because the sender of the turn
    no longer reports it."""

    def __init__(self, on_delete: OnDelete, *, within: str = "", merged: OnDelete | None = None) -> None:
        self.on_delete = on_delete
        self.within = within
        self.merged = merged or on_delete
        self.lazy_sub_objs = getattr(on_delete, "lazy_sub_objs", False)  # Django reads it from its own

    def __call__(self, *arguments: Any) -> None:
        self.on_delete(*arguments)

    def __eq__(self, other: object) -> bool:
        return self.on_delete == (other.on_delete if isinstance(other, DeletionRule) else other)

    def __hash__(self) -> int:
        return hash(self.on_delete)


class _RuleSerializer(BaseSerializer):
    """Writes Django's value into a migration: the database knows nothing of the rest."""

    def serialize(self) -> Any:
        return serializer_factory(self.value.on_delete).serialize()


Serializer.register(DeletionRule, _RuleSerializer)

if TYPE_CHECKING:
    _NumberBase = models.BigIntegerField[int, int]
else:  # generic in the stubs only
    _NumberBase = models.BigIntegerField


class PlainReference(_NumberBase):
    """The key of a record as a number without a constraint; Django loads no record by it. ``on_delete`` may also be
    ``DO_NOTHING``: the number stays when the record goes. Migrations hold the number alone."""

    def __init__(self, to: type[models.Model], on_delete: OnDelete, **options: Any) -> None:
        self.to, self.on_delete = to, on_delete
        super().__init__(**options)

    def deconstruct(self) -> Any:
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.BigIntegerField", arguments, options

    def clone(self) -> Any:
        _, _, arguments, options = self.deconstruct()
        return models.BigIntegerField(*arguments, **options)
