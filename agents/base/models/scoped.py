"""Managers that refuse to run a query without a scope.

Every query of a guarded table says on whose behalf it runs: ``visible_to(actor, action)``, or
``unscoped("reason")`` inside the store. One that says neither raises before it reaches the
database, so a forgotten check is an error in the first test and never a leak.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q

from agents.base.access import Action, Actor, readable_scopes, require
from agents.base.models.fields import MomentField


class UnscopedQuery(RuntimeError):
    """A query of a guarded table was about to run without an actor or a reason."""


class ScopedQuerySet(models.QuerySet[Any, Any]):
    """A queryset that runs only after `visible_to` or `unscoped`."""

    scoped = False

    def visible_to(self, actor: Actor, action: Action = "read") -> Self:
        """Keep the rows that the actor may see. Rows without attributes are for their owner and for admins.
        Raises NotAllowed where it may not do ``action`` at all."""
        require(actor, action)
        rows = self.unscoped("visible_to")
        if actor.is_admin:
            return rows
        return rows.filter(Q(scope_id__in=readable_scopes(actor)) | self._owned_by(actor))

    def _owned_by(self, actor: Actor) -> Q:
        return Q(owner_id=actor.user_id) if actor.user_id is not None else Q(pk__in=())

    def unscoped(self, reason: str) -> Self:
        """Keep all rows. ``reason`` tells the reader of the code why no actor is needed."""
        rows = self.all()
        rows.scoped = True
        return rows

    def _clone(self) -> Self:
        clone: Self = super()._clone()  # type: ignore[misc]  # private in the stubs
        clone.scoped = self.scoped
        return clone

    def _check(self) -> None:
        if not self.scoped:
            raise UnscopedQuery(f"{self.model.__name__}: say visible_to(actor) or unscoped(reason)")

    def _fetch_all(self) -> None:
        if self._result_cache is None:
            self._check()
        super()._fetch_all()

    def iterator(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        self._check()
        return super().iterator(*args, **kwargs)

    def aiterator(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self._check()
        return super().aiterator(*args, **kwargs)

    def count(self) -> int:
        self._check()
        return super().count()

    def exists(self) -> bool:
        self._check()
        return super().exists()

    def aggregate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        self._check()
        return super().aggregate(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        self._check()
        return super().update(**kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        self._check()
        return super().delete()

    def _raw_delete(self, using: str | None) -> int:
        self._check()
        deleted: int = super()._raw_delete(using)
        return deleted

    def raw(self, *args: Any, **kwargs: Any) -> Any:
        """Raise UnscopedQuery: no rule can be added to a statement written by hand."""
        raise UnscopedQuery(f"{self.model.__name__}: a raw query has no actor")

    def explain(self, *args: Any, **kwargs: Any) -> str:
        self._check()
        return super().explain(*args, **kwargs)

    def resolve_expression(self, *args: Any, **kwargs: Any) -> Any:
        """Check a query that becomes a part of another one."""
        self._check()
        return super().resolve_expression(*args, **kwargs)

    # joined with others, it is scoped when all of them are

    def _combinator_query(self, combinator: str, *others: Any, all: bool = False) -> Self:
        return self._joint(super()._combinator_query(combinator, *others, all=all), *others)  # type: ignore[misc]  # private in the stubs

    def __and__(self, other: Any) -> Self:
        return self._joint(super().__and__(other), other)

    def __or__(self, other: Any) -> Self:
        return self._joint(super().__or__(other), other)

    def __xor__(self, other: Any) -> Self:
        return self._joint(super().__xor__(other), other)

    def _joint(self, joined: Any, *others: Any) -> Self:
        rows: Self = joined._chain()
        rows.scoped = self.scoped and all(other.scoped for other in others)
        return rows


def visible_where(actor: Actor, action: Action = "read") -> tuple[str, list[int]]:
    """Return the rule of `visible_to` as SQL over ``owner_id`` and ``scope_id``, with its values: for the
    few single-row reads that every request makes. A test checks that the two agree."""
    require(actor, action)
    if actor.is_admin:
        return "1 = 1", []
    scopes = readable_scopes(actor)
    owned = [] if actor.user_id is None else [actor.user_id]
    parts = ["owner_id = %s"] * len(owned)
    if scopes:
        parts.append(f"scope_id IN ({', '.join(['%s'] * len(scopes))})")
    return f"({' OR '.join(parts) or '1 = 0'})", [*owned, *scopes]


class TurnScopedQuerySet(ScopedQuerySet):
    """Rows that are as visible as their turn."""

    def visible_to(self, actor: Actor, action: Action = "read") -> Self:
        require(actor, action)
        rows = self.unscoped("visible_to")
        if actor.is_admin:
            return rows
        return rows.filter(Q(turn__scope_id__in=readable_scopes(actor)) | self._through(actor))

    def _through(self, actor: Actor) -> Q:
        return Q(turn__owner_id=actor.user_id) if actor.user_id is not None else Q(pk__in=())


class Scoped(models.Model):
    """A root row, with its owner and the attributes that decide who sees it."""

    owner = models.ForeignKey(
        "agents.User", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    scope = models.ForeignKey("agents.Scope", on_delete=models.PROTECT, related_name="+", db_index=False)

    objects = ScopedQuerySet.as_manager()
    all_objects = models.Manager()

    class Meta:
        abstract = True
        base_manager_name = "all_objects"
        default_manager_name = "objects"


class RemovableQuerySet(ScopedQuerySet):
    """Rows that are invisible to everybody from the start of their removal."""

    def visible_to(self, actor: Actor, action: Action = "read") -> Self:
        return super().visible_to(actor, action).filter(removed_at=None)


class Removable(Scoped):
    """A root row that may be so large that it is deleted in several jobs: ``removed_at`` is when that began."""

    removed_at = MomentField(null=True, blank=True, editable=False)

    objects: ClassVar[Any] = RemovableQuerySet.as_manager()

    class Meta(Scoped.Meta):
        abstract = True
