"""Groups of tools registered over the API: by name, for those who see them.

A name belongs to those who see it: somebody else's group of the same name is neither told nor in the
way. Who sees several of one name uses the oldest, so that nobody can put another in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import msgspec
from django.db import IntegrityError
from pydantic import TypeAdapter

from agents import ids
from agents.access import Action, Actor
from agents.errors import Conflict, NotFound
from agents.models import ToolGroup
from agents.models.fields import to_datetime, to_us
from agents.schemas.content import ToolDef
from agents.store import scopes, sealed
from agents.store.writer import writer

LISTED = 1000
_DEFINITIONS = TypeAdapter(list[ToolDef])


@dataclass(frozen=True, slots=True)
class NewGroup:
    """What is registered. ``headers`` go to the server with every request, and are for its URL only."""

    name: str
    provider_id: str
    uri: str
    args: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A registered group with its last listing: ``listed_at`` (microseconds) is None before the first.
    ``note`` says what was wrong when it was last asked."""

    key: int
    name: str
    provider_id: str
    uri: str
    args: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)
    tools: Sequence[ToolDef]
    listed_at: int | None
    note: str


def find(actor: Actor, name: str, action: Action = "read") -> GroupRecord | None:
    """The group of this name that the actor may see."""
    row = _rows(actor, action).filter(name=name).order_by("id").first()
    return _record(row) if row else None


def listing(actor: Actor) -> list[GroupRecord]:
    """The groups the actor may see, the oldest first, each name once; at most `LISTED` rows."""
    found: dict[str, GroupRecord] = {}
    for row in _rows(actor).order_by("id")[:LISTED]:
        found.setdefault(row.name, _record(row))
    return list(found.values())


def register(actor: Actor, new: NewGroup) -> GroupRecord:
    """Register a group. The same again changes nothing. Raises Conflict for another of its name."""
    try:
        writer.write(lambda: _register(actor, new))
    except IntegrityError as error:  # another process was first
        raise _taken(new.name) from error
    record = find(actor, new.name)
    if record is None:
        raise NotFound(f"Tool group '{new.name[:200]}' not found.", code="toolgroup_not_found")
    return record


def _register(actor: Actor, new: NewGroup) -> None:
    there = find(actor, new.name)
    if there is not None:
        same = (there.provider_id, there.uri, dict(there.args), dict(there.headers))
        if same != (new.provider_id, new.uri, dict(new.args), dict(new.headers)):
            raise _taken(new.name)
        return
    row = ToolGroup(
        name=new.name,
        provider_id=new.provider_id,
        uri=new.uri,
        args=msgspec.json.encode(new.args).decode(),
        secrets=sealed.seal(new.uri, dict(new.headers)),
        owner_id=actor.user_id,
        scope_id=scopes.scope_for(actor),
        created_at=to_datetime(ids.now_us()),
    )
    row.save(force_insert=True)


def unregister(actor: Actor, name: str) -> None:
    """Forget a group. Raises NotFound."""

    def job() -> int:
        keys = list(_rows(actor, "manage").filter(name=name).order_by("id").values_list("pk", flat=True)[:1])
        return ToolGroup.objects.unscoped("checked above").filter(pk__in=keys).delete()[0]

    if not writer.write(job):
        raise NotFound(f"Tool group '{name[:200]}' not found.", code="toolgroup_not_found")


def keep_listing(key: int, tools: Sequence[ToolDef] | None, note: str) -> None:
    """What a group's server has said it has; None keeps what it said before."""
    changes: dict[str, Any] = {"note": note[:1000]}
    if tools is not None:
        changes["tools"] = _DEFINITIONS.dump_json(list(tools), exclude_none=True).decode()
        changes["listed_at"] = to_datetime(ids.now_us())
    rows = ToolGroup.objects.unscoped("what its own server says").filter(pk=key)
    writer.write(lambda: rows.update(**changes))


def _rows(actor: Actor, action: Action = "read") -> Any:
    return ToolGroup.objects.visible_to(actor, action)


@lru_cache(maxsize=256)
def _definitions(text: str) -> Sequence[ToolDef]:
    return _DEFINITIONS.validate_json(text or "[]")


def _record(row: ToolGroup) -> GroupRecord:
    headers = sealed.unseal(row.uri, row.secrets)
    lost = "" if headers is not None else "Its stored headers can no longer be read; register it anew. "
    return GroupRecord(
        key=row.pk,
        name=row.name,
        provider_id=row.provider_id,
        uri=row.uri,
        args=msgspec.json.decode(row.args or "{}"),
        headers=headers or {},
        tools=_definitions(row.tools),
        listed_at=to_us(row.listed_at) if row.listed_at else None,
        note=lost + row.note,
    )


def _taken(name: str) -> Conflict:
    words = f"toolgroup_id: '{name[:200]}' is registered already, otherwise than this; delete it first."
    return Conflict(words, code="already_registered", param="toolgroup_id")
