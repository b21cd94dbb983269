"""Saved views: one's own, those that others share, and a few that come with the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from django.db.models import Q
from django.utils.translation import gettext_noop

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import scopes
from agents.base.store.writer import writer
from agents.base.timestamps import to_us
from agents.logs.models.saved_views import SavedView
from agents.query import parser
from agents.query.tree import Level

MOST = 200
"""Views of one owner."""


@dataclass(frozen=True, slots=True)
class View:
    """``owner`` is its maker's name; moments in microseconds. One that is built in has neither, and its
    name is a word of ours."""

    public_id: str
    name: str
    query: str
    level: Level
    columns: tuple[str, ...] = ()
    shared: bool = True
    owner: str | None = None
    mine: bool = False
    created_at: int | None = None
    updated_at: int | None = None

    @property
    def built_in(self) -> bool:
        return self.created_at is None


def listing(actor: Actor) -> list[View]:
    """All that the actor sees and somebody made, by name; at most 1,000."""
    rows = SavedView.objects.visible_to(actor).filter(Q(shared=True) | Q(owner_id=actor.user_id or 0))
    return [_view(actor, row) for row in rows.select_related("owner").order_by("name", "pk")[:1000]]


def get(actor: Actor, public_id: str, action: Action = "read") -> View:
    """Raises NotFound. An admin is given private ones too, who knows their id."""
    rows = SavedView.objects.visible_to(actor, action).select_related("owner")
    row = rows.filter(pk=_key(public_id)).first()
    found = None if row is None else _view(actor, row)
    if found is None or not (found.shared or found.mine):
        raise _missing(public_id)
    return found


def create(actor: Actor, given: View) -> View:
    """Keep a view; its id, owner and moments are made here. Raises QuerySyntax, InvalidRequest."""
    checked, key, now = _checked(given), ids.new_key(), ids.now_us()

    def job() -> None:
        if SavedView.objects.visible_to(actor, "run").filter(owner_id=actor.user_id).count() >= MOST:
            raise InvalidRequest(f"You keep {MOST} views already: delete one first.", code="too_many_views")
        SavedView(
            pk=key,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
            created_at=now,
            updated_at=now,
            **_columns(checked),
        ).save(force_insert=True)

    writer.write(job)
    return get(actor, ids.public(ids.Kind.VIEW, key), "run")


def update(actor: Actor, public_id: str, changes: Mapping[str, Any]) -> View:
    """Change one's own view. Raises NotFound, QuerySyntax."""
    found = get(actor, public_id, "run")
    if not found.mine:
        raise _missing(public_id)
    checked = _checked(replace(found, **changes))
    rows = SavedView.objects.unscoped("checked").filter(pk=_key(public_id))
    writer.write(lambda: rows.update(**_columns(checked), updated_at=ids.now_us()))
    return get(actor, public_id, "run")


def delete(actor: Actor, public_id: str) -> None:
    """Raises NotFound, also for a view of somebody else."""
    if not get(actor, public_id, "run").mine:
        raise _missing(public_id)
    rows = SavedView.objects.unscoped("checked").filter(pk=_key(public_id))
    writer.write(lambda: rows.delete())


def _key(public_id: str) -> int:
    return ids.parse(ids.Kind.VIEW, public_id) or 0


def _missing(public_id: str) -> NotFound:
    return NotFound(f"View '{public_id[:80]}' not found.")


def _checked(given: View) -> View:
    """The same with its query in the normal form. Raises QuerySyntax."""
    query = parser.read(given.query.strip(), now_us=ids.now_us(), level=given.level)
    return replace(given, query=query.text)


def _columns(view: View) -> dict[str, Any]:
    named = {"name": view.name, "level": view.level, "query": view.query}
    return {**named, "columns": list(view.columns), "shared": view.shared}


def _view(actor: Actor, row: Any) -> View:
    own = actor.user_id is not None and row.owner_id == actor.user_id
    return View(
        public_id=ids.public(ids.Kind.VIEW, row.pk),
        name=row.name,
        query=row.query,
        level=cast(Level, row.level),
        columns=tuple(row.columns),
        shared=row.shared,
        owner=row.owner.username if row.owner else None,
        mine=own or actor.is_admin,
        created_at=to_us(row.created_at),
        updated_at=to_us(row.updated_at),
    )


BUILT_IN: list[View] = [
    View("failed-today", gettext_noop("Failures of the last day"), "status:failed started:>-24h", "turn"),
    View("waiting", gettext_noop("Waiting for someone"), "is:waiting", "turn"),
    View("slow", gettext_noop("Slow: over 10 s"), "duration:>10s", "turn"),
    View("failed-tools", gettext_noop("Failed tools"), "type:tool_execution status:failed", "step"),
]
"""What anyone asks for on the first day. Names are translated where they are shown."""


def add_built_in(new: View) -> None:
    """Offer a view to everybody, behind the others of its level."""
    if new not in BUILT_IN:
        behind = [place for place, view in enumerate(BUILT_IN, 1) if view.level == new.level]
        BUILT_IN.insert(behind[-1] if behind else len(BUILT_IN), new)
