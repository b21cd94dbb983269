"""Store saved views: the actor's own, those that others share, and a few that come with the server."""

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

MAX_VIEWS = 200
"""Views of one owner."""


@dataclass(frozen=True, slots=True)
class StoredView:
    """A saved view. ``owner`` is its creator's name; timestamps in microseconds. A built-in view has neither, and
    its name is translated."""

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


def listing(actor: Actor) -> list[StoredView]:
    """List the stored views that the actor sees, by name; at most 1,000."""
    rows = SavedView.objects.visible_to(actor).filter(Q(shared=True) | Q(owner_id=actor.user_id or 0))
    return [_view(actor, row) for row in rows.select_related("owner").order_by("name", "pk")[:1000]]


def get(actor: Actor, public_id: str, action: Action = "read") -> StoredView:
    """Return a view. Raises NotFound. An admin who knows the id gets private ones too."""
    rows = SavedView.objects.visible_to(actor, action).select_related("owner")
    row = rows.filter(pk=_key(public_id)).first()
    view = None if row is None else _view(actor, row)
    if view is None or not (view.shared or view.mine):
        raise _missing(public_id)
    return view


def create(actor: Actor, view: StoredView) -> StoredView:
    """Store a view; its id, owner and timestamps are set here. Raises QuerySyntax, InvalidRequest."""
    checked, key, now = _normalised(view), ids.new_key(), ids.now_us()

    def job() -> None:
        if SavedView.objects.visible_to(actor, "run").filter(owner_id=actor.user_id).count() >= MAX_VIEWS:
            raise InvalidRequest(f"You keep {MAX_VIEWS} views already: delete one first.", code="too_many_views")
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


def update(actor: Actor, public_id: str, changes: Mapping[str, Any]) -> StoredView:
    """Change a view of the actor's own. Raises NotFound, QuerySyntax."""
    view = get(actor, public_id, "run")
    if not view.mine:
        raise _missing(public_id)
    checked = _normalised(replace(view, **changes))
    rows = SavedView.objects.unscoped("checked").filter(pk=_key(public_id))
    writer.write(lambda: rows.update(**_columns(checked), updated_at=ids.now_us()))
    return get(actor, public_id, "run")


def delete(actor: Actor, public_id: str) -> None:
    """Delete a view. Raises NotFound, also for a view of somebody else."""
    if not get(actor, public_id, "run").mine:
        raise _missing(public_id)
    rows = SavedView.objects.unscoped("checked").filter(pk=_key(public_id))
    writer.write(lambda: rows.delete())


def _key(public_id: str) -> int:
    return ids.parse(ids.Kind.VIEW, public_id) or 0


def _missing(public_id: str) -> NotFound:
    return NotFound(f"View '{public_id[:80]}' not found.")


def _normalised(view: StoredView) -> StoredView:
    """Return the view with its query in the normal form. Raises QuerySyntax."""
    query = parser.read(view.query.strip(), now_us=ids.now_us(), level=view.level)
    return replace(view, query=query.text)


def _columns(view: StoredView) -> dict[str, Any]:
    columns = {"name": view.name, "level": view.level, "query": view.query}
    return {**columns, "columns": list(view.columns), "shared": view.shared}


def _view(actor: Actor, row: Any) -> StoredView:
    own = actor.user_id is not None and row.owner_id == actor.user_id
    return StoredView(
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


BUILT_IN: list[StoredView] = [
    StoredView("failed-today", gettext_noop("Failures of the last day"), "status:failed started:>-24h", "turn"),
    StoredView("waiting", gettext_noop("Waiting for input"), "is:waiting", "turn"),
    StoredView("slow", gettext_noop("Slow: over 10 s"), "duration:>10s", "turn"),
    StoredView("failed-tools", gettext_noop("Failed tools"), "type:tool_execution status:failed", "step"),
]
"""Views for common questions. Names are translated where they are displayed."""


def add_built_in(new: StoredView) -> None:
    """Offer a view to everybody, after the others of its level."""
    if new not in BUILT_IN:
        positions = [position for position, view in enumerate(BUILT_IN, 1) if view.level == new.level]
        BUILT_IN.insert(positions[-1] if positions else len(BUILT_IN), new)
