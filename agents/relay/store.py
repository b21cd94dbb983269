"""The log of chat completions: one row per call, written when it has ended, in whatever way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from agents.base import ids
from agents.base.access import Action, Actor
from agents.base.errors import InvalidRequest, NotFound
from agents.base.store import portions, scopes
from agents.base.store.encoding import chunks, pack, size_of, unpack
from agents.base.store.portions import Sized
from agents.base.store.writer import writer
from agents.record.schemas.content import Usage
from agents.relay.models import ChatCompletion, CompletionStatus


@dataclass(frozen=True, slots=True)
class CompletionRecord:
    """A call that has ended. ``body`` is the completion as JSON with its ``input_messages``."""

    key: int
    model: str
    status: CompletionStatus
    usage: Usage
    body: bytes


@dataclass(frozen=True, slots=True)
class CompletionPage:
    """A page of completions: their keys and sizes in bytes, and whether more follow. A page of large completions
    ends early."""

    sized: list[Sized[int]]
    has_more: bool

    @property
    def public_ids(self) -> list[str]:
        return [ids.openai(ids.Kind.COMPLETION, key) for key, _ in self.sized]

    def bodies(self) -> Iterator[bytes]:
        """Yield the completions as JSON while they are read."""
        for keys in portions.groups(self.sized):
            rows = ChatCompletion.objects.unscoped("ids checked").filter(pk__in=keys)
            packed_bodies = {key: packed for key, *packed in rows.values_list("pk", "encoding", "body")}
            for key in keys:
                if key in packed_bodies:
                    yield unpack(*packed_bodies.pop(key))


def add(actor: Actor, ended: CompletionRecord) -> None:
    """Store a call."""
    encoding, stored = pack(ended.body)

    def job() -> None:
        row = ChatCompletion(
            id=ended.key,
            model=ended.model[:300],
            status=ended.status,
            input_tokens=ended.usage.input_tokens,
            output_tokens=ended.usage.output_tokens,
            encoding=encoding,
            body=stored,
            owner_id=actor.user_id,
            scope_id=scopes.scope_for(actor),
        )
        row.save(force_insert=True)

    writer.write(job)


def get(actor: Actor, public: str, action: Action = "read") -> tuple[int, Iterator[bytes]]:
    """Return the size of a call in bytes, and its JSON in chunks. Raises NotFound."""
    rows = ChatCompletion.objects.visible_to(actor, action)
    row = rows.filter(pk=_key_of(public)).values_list("encoding", "body").first()
    if row is None:
        raise _not_found(public)
    return size_of(*row), chunks(*row)


def set_metadata(actor: Actor, public: str, metadata: dict[str, str] | None) -> None:
    """Replace the metadata of a call. Raises NotFound."""

    def job() -> bool:
        rows = ChatCompletion.objects.visible_to(actor, "manage").filter(pk=_key_of(public))
        row = rows.select_for_update().values_list("pk", "encoding", "body").first()
        if row is None:
            return False
        body = msgspec.json.decode(unpack(*row[1:]), type=dict[str, msgspec.Raw])
        body["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
        encoding, stored = pack(msgspec.json.encode(body))
        ChatCompletion.objects.unscoped("checked above").filter(pk=row[0]).update(encoding=encoding, body=stored)
        return True

    if not writer.write(job):
        raise _not_found(public)


def delete(actor: Actor, public: str) -> None:
    """Delete a call. Raises NotFound."""

    def job() -> int:
        rows = ChatCompletion.objects.visible_to(actor, "manage").filter(pk=_key_of(public))
        keys = list(rows.values_list("pk", flat=True))
        return ChatCompletion.objects.unscoped("checked above").filter(pk__in=keys).delete()[0]

    if not writer.write(job):
        raise _not_found(public)


def page(
    actor: Actor, *, after: str = "", limit: int = 20, model: str = "", newest_first: bool = True
) -> CompletionPage:
    """Return the calls after the id ``after``, ordered by key: the order of their requests, to the
    millisecond. Raises InvalidRequest when ``after`` is no id."""
    rows: Any = ChatCompletion.objects.visible_to(actor)
    if model:
        rows = rows.filter(model=model)
    if after:
        key = ids.parse_openai(ids.Kind.COMPLETION, after)
        if key is None:
            raise InvalidRequest("after: not the id of a chat completion.", param="after")
        rows = rows.filter(pk__lt=key) if newest_first else rows.filter(pk__gt=key)
    rows = rows.order_by("-pk" if newest_first else "pk")
    # ids first and bodies after: a sort never carries a body
    keys = list(rows.values_list("pk", flat=True)[: limit + 1])
    size = portions.packed_sizes(ChatCompletion.objects.unscoped("ids checked").filter(pk__in=keys))
    return CompletionPage(*portions.page([(key, size[key]) for key in keys if key in size], limit))


def _key_of(public: str) -> int:
    key = ids.parse_spelled(ids.Kind.COMPLETION, public)
    if key is None:
        raise _not_found(public)
    return key


def _not_found(public: str) -> NotFound:
    return NotFound(f"Chat completion '{public[:80]}' not found.")
