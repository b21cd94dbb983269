"""Prompts and their versions. A version never changes; who sees an owner's agents sees the prompts as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor, require
from agents.base.errors import Conflict, InvalidRequest, NotFound
from agents.base.store import keyset, scopes
from agents.base.store.keyset import Cursor
from agents.base.store.writer import writer
from agents.base.timestamps import to_datetime
from agents.responses.models import Prompt, PromptVersion
from agents.responses.schemas.prompts import MAX_VERSION

MAX_PROMPTS = 1_000
"""Prompts of one owner."""


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """A version of a prompt."""

    key: int
    version: int
    text: str
    variables: Sequence[str]
    is_default: bool

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.PROMPT, self.key)


def create(actor: Actor, text: str, variables: Sequence[str]) -> PromptRecord:
    """Store a new prompt. Raises NotAllowed, and InvalidRequest where its owner has too many."""
    require(actor, "manage")
    key = ids.new_key()

    def job() -> None:
        if Prompt.objects.unscoped("counted").filter(owner_id=actor.user_id).count() >= MAX_PROMPTS:
            raise InvalidRequest(f"You have {MAX_PROMPTS} prompts: no more.", code="too_many_prompts")
        row = Prompt(
            pk=key, owner_id=actor.user_id, scope_id=scopes.scope_for(actor), created_at=to_datetime(ids.now_us())
        )
        row.save(force_insert=True)
        _add_version(key, 1, text, variables)

    writer.write(job)
    return PromptRecord(key, 1, text, variables, is_default=True)


def get(actor: Actor, public_id: str, version: int | None = None, action: Action = "read") -> PromptRecord:
    """Return a version of a prompt, its default one where none is named. Raises NotFound."""
    row = _row(actor, public_id, action)
    number = row.default_version if version is None else version
    revision = PromptVersion.objects.filter(prompt_id=row.pk, version=number).first()
    if revision is None:
        raise _no_version(public_id, number)
    return _record(row, revision)


def versions(actor: Actor, public_id: str) -> list[PromptRecord]:
    """Return all versions of a prompt in order. Raises NotFound."""
    row = _row(actor, public_id, "read")
    return [_record(row, revision) for revision in PromptVersion.objects.filter(prompt_id=row.pk).order_by("version")]


def page(actor: Actor, cursor: Cursor) -> tuple[list[PromptRecord], bool]:
    """Return the default versions of a page of prompts, and whether more follow. Raises InvalidRequest for an id that
    is none."""
    bounds = keyset.bounds(ids.Kind.PROMPT, cursor)
    keys, has_more = keyset.page(Prompt.objects.visible_to(actor), bounds, "pk")
    rows = {row.pk: row for row in Prompt.objects.unscoped("ids checked").filter(pk__in=[key for (key,) in keys])}
    texts = {
        (revision.prompt_id, revision.version): revision
        for revision in PromptVersion.objects.filter(prompt_id__in=rows)
    }
    records = [
        _record(rows[key], texts[key, rows[key].default_version])
        for (key,) in keys
        if key in rows and (key, rows[key].default_version) in texts
    ]
    return records, has_more


def add_version(
    actor: Actor, public_id: str, *, after: int, text: str, variables: Sequence[str], is_default: bool
) -> PromptRecord:
    """Store a new version of a prompt after the last. Raises NotFound; Conflict where ``after`` is not the last."""

    def job() -> PromptRecord:
        row = _row(actor, public_id, "manage")
        if after != row.last_version:
            message = f"version: {after} is not the last version of this prompt, which is {row.last_version}."
            raise Conflict(message, param="version", code="version_conflict")
        if after >= MAX_VERSION:
            raise InvalidRequest(f"A prompt has at most {MAX_VERSION} versions.", code="too_many_versions")
        row.last_version = after + 1
        row.default_version = row.last_version if is_default else row.default_version
        row.save(force_update=True)
        return _record(row, _add_version(row.pk, row.last_version, text, variables))

    return writer.write(job)


def set_default(actor: Actor, public_id: str, version: int) -> PromptRecord:
    """Make a version the default one. Raises NotFound."""

    def job() -> PromptRecord:
        row = _row(actor, public_id, "manage")
        revision = PromptVersion.objects.filter(prompt_id=row.pk, version=version).first()
        if revision is None:
            raise _no_version(public_id, version)
        row.default_version = version
        row.save(force_update=True)
        return _record(row, revision)

    return writer.write(job)


def delete(actor: Actor, public_id: str) -> None:
    """Delete a prompt with its versions; responses keep what they were told. Raises NotFound."""

    def job() -> None:
        key = _row(actor, public_id, "manage").pk
        PromptVersion.objects.filter(prompt_id=key)._raw_delete("default")
        Prompt.objects.unscoped("checked").filter(pk=key)._raw_delete("default")

    writer.write(job)


def _add_version(prompt: int, version: int, text: str, variables: Sequence[str]) -> PromptVersion:
    row = PromptVersion(
        pk=ids.new_key(),
        prompt_id=prompt,
        version=version,
        text=text,
        variables=msgspec.json.encode(list(variables)).decode(),
        created_at=to_datetime(ids.now_us()),
    )
    row.save(force_insert=True)
    return row


def _row(actor: Actor, public_id: str, action: Action) -> Any:
    key = ids.parse_openai(ids.Kind.PROMPT, public_id)
    rows = Prompt.objects.visible_to(actor, action)
    row = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise NotFound(f"Prompt '{public_id[:80]}' not revision.", code="prompt_not_found")
    return row


def _no_version(public_id: str, version: int) -> NotFound:
    message = f"Prompt '{public_id[:80]}' has no version {version}."
    return NotFound(message, param="version", code="prompt_version_not_found")


def _record(row: Any, revision: Any) -> PromptRecord:
    variables = msgspec.json.decode(revision.variables)
    return PromptRecord(row.pk, revision.version, revision.text, variables, revision.version == row.default_version)
