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
from pydantic import ConfigDict, TypeAdapter

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import Conflict, NotFound
from agents.base.store import scopes, sealed
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime, us_or_none
from agents.record.schemas.content import ToolDef
from agents.tools.models import ToolGroup

MAX_LISTED = 1000
_DEFINITIONS = TypeAdapter(list[ToolDef], config=ConfigDict(defer_build=True))


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
    return record_of(row) if row else None


def listing(actor: Actor, action: Action = "read") -> list[GroupRecord]:
    """The groups the actor may see, the oldest first, each name once; at most `LISTED` rows."""
    records: dict[str, GroupRecord] = {}
    for row in _rows(actor, action).order_by("id")[:MAX_LISTED]:
        records.setdefault(row.name, record_of(row))
    return list(records.values())


def register(actor: Actor, new: NewGroup) -> GroupRecord:
    """Register a group. The same again changes nothing. Raises Conflict for another of its name."""
    try:
        writer.write(lambda: _register(actor, new))
    except IntegrityError as error:  # another process was first
        raise _name_conflict(new.name) from error
    record = find(actor, new.name, "manage")
    if record is None:
        raise _not_found(new.name)
    return record


def _register(actor: Actor, new: NewGroup) -> None:
    existing = find(actor, new.name, "manage")
    if existing is not None:
        same = (existing.provider_id, existing.uri, dict(existing.args), dict(existing.headers))
        if same != (new.provider_id, new.uri, dict(new.args), dict(new.headers)):
            raise _name_conflict(new.name)
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


def revise(actor: Actor, key: int, new: NewGroup) -> GroupRecord:
    """Change a group under its name; ``headers`` are all it has from now on. One with another URL
    has no listing yet. Raises NotFound."""

    def job() -> None:
        row = _rows(actor, "manage").filter(pk=key).first()
        if row is None:
            raise _not_found(new.name)
        if row.uri != new.uri:
            row.tools, row.listed_at, row.note = "", None, ""
        row.provider_id, row.uri = new.provider_id, new.uri
        row.args = msgspec.json.encode(new.args).decode()
        row.secrets = sealed.seal(new.uri, dict(new.headers))
        row.save(force_update=True)

    writer.write(job)
    return get(actor, key, "manage")


def get(actor: Actor, key: int, action: Action = "read") -> GroupRecord:
    """One group. Raises NotFound."""
    row = _rows(actor, action).filter(pk=key).first()
    if row is None:
        raise _not_found("")
    return record_of(row)


def unregister(actor: Actor, name: str) -> None:
    """Forget a group. Raises NotFound."""
    keys = _rows(actor, "manage").filter(name=name).order_by("id").values_list("pk", flat=True)
    _delete(keys[:1], name)


def delete(actor: Actor, key: int) -> None:
    """Forget this group: of several of a name, it need not be the one that is used. Raises NotFound."""
    _delete(_rows(actor, "manage").filter(pk=key).values_list("pk", flat=True), "")


def _delete(keys: Any, name: str) -> None:
    def job() -> int:
        return ToolGroup.objects.unscoped("checked by the caller").filter(pk__in=list(keys.all())).delete()[0]

    if not writer.write(job):
        raise _not_found(name)


def store_listing(key: int, tools: Sequence[ToolDef] | None, note: str) -> None:
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


def tools_of(row: ToolGroup) -> Sequence[ToolDef]:
    """What a group the actor was let into last said it has."""
    return _definitions(row.tools)


def record_of(row: ToolGroup) -> GroupRecord:
    """The record of a row the actor was let into, its headers unsealed: not to be shown."""
    headers = sealed.unseal(row.uri, row.secrets)
    warning = "" if headers is not None else "Its stored headers can no longer be read; register it anew. "
    return GroupRecord(
        key=row.pk,
        name=row.name,
        provider_id=row.provider_id,
        uri=row.uri,
        args=msgspec.json.decode(row.args or "{}"),
        headers=headers or {},
        tools=tools_of(row),
        listed_at=us_or_none(row.listed_at),
        note=warning + row.note,
    )


def _not_found(name: str) -> NotFound:
    subject = f"Tool group '{name[:200]}'" if name else "This tool group was"
    return NotFound(f"{subject} not found.", code="toolgroup_not_found")


def _name_conflict(name: str) -> Conflict:
    message = f"toolgroup_id: '{name[:200]}' is registered already, otherwise than this; delete it first."
    return Conflict(message, code="already_registered", param="toolgroup_id")
