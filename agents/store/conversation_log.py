"""The list of conversations under a query: those with a turn that it accepts, newest first, by key in
both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import IExact

from agents import ids
from agents.access import Actor
from agents.models import Session, Turn
from agents.models.fields import to_us
from agents.query.tree import Node, Query, Term, Whole, all_of, conjuncts
from agents.schemas.logs import TurnRow
from agents.store import logs
from agents.store.conditions import keys_named
from agents.store.query import condition

_COLUMNS = (
    "pk",
    "name",
    "created_at",
    "turn_count",
    "item_count",
    "input_tokens",
    "output_tokens",
    "cost_nano",
    "metadata",
    "last_turn",
)


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A session in the list; ``last`` is its last turn. ``created_at`` in microseconds."""

    key: int
    name: str
    created_at: int
    turn_count: int
    item_count: int
    input_tokens: int
    output_tokens: int
    cost_nano: int | None
    metadata: Mapping[str, Any]
    last: TurnRow | None

    @property
    def public_id(self) -> str:
        return ids.openai(ids.Kind.SESSION, self.key)


@dataclass(frozen=True, slots=True)
class ConversationPage:
    rows: list[ConversationRow]
    has_newer: bool
    has_older: bool


def page(
    actor: Actor, query: Query, *, after: int | None = None, before: int | None = None, limit: int = 50
) -> ConversationPage:
    """A page of conversations: behind (older than) ``after``, or in front of (newer than) ``before``."""
    rows = Session.objects.visible_to(actor).filter(_condition(actor, query))
    if before is not None:
        keys = list(rows.filter(pk__gt=before).order_by("pk").values_list("pk", flat=True)[: limit + 1])
        return ConversationPage(_rows(actor, keys[:limit][::-1]), has_newer=len(keys) > limit, has_older=True)
    if after is not None:
        rows = rows.filter(pk__lt=after)
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: limit + 1])
    return ConversationPage(_rows(actor, keys[:limit]), has_newer=after is not None, has_older=len(keys) > limit)


def _rows(actor: Actor, keys: list[int]) -> list[ConversationRow]:
    found = Session.objects.unscoped("ids checked").filter(pk__in=keys).values_list(*_COLUMNS)
    sessions = {row[0]: row for row in found}
    lasts = {row.id: row for row in logs.turn_rows(actor, [row[-1] for row in sessions.values() if row[-1]])}
    return [_row(sessions[key], lasts) for key in keys if key in sessions]


def _row(row: tuple[Any, ...], lasts: Mapping[int, TurnRow]) -> ConversationRow:
    key, name, created, turns, items, read, written, cost, metadata, last = row
    return ConversationRow(key, name, to_us(created), turns, items, read, written, cost, metadata, lasts.get(last))


# ------------------------------------------------------------------------------------------ condition


def _condition(actor: Actor, query: Query) -> Q:
    """What is asked of a conversation itself (its metadata, its name) is asked of it or of one of its
    turns; all else of one turn together."""
    nodes = conjuncts(query.tree)
    own = [node for node in nodes if _of_itself(node) is not None]
    others = [node for node in nodes if _of_itself(node) is None]
    asked = [(_of_itself(node) or Q()) | _some_turn(actor, query, [node]) for node in own]
    if others:
        asked.append(_some_turn(actor, query, others))
    return reduce(and_, asked, Q())


def _some_turn(actor: Actor, query: Query, nodes: list[Node]) -> Q:
    asked = condition(query.model_copy(update={"tree": all_of(nodes)}))
    # every number is: said so that the index of a session's turns is taken, and not one of what is asked
    turns = Turn.objects.visible_to(actor).filter(asked, session_id=OuterRef("pk"), number__gte=0)
    return Q(Exists(turns))


def _of_itself(node: Node) -> Q | None:
    """What a term asks of a conversation itself; None where it asks only of turns."""
    match node:
        case Term(field="meta", op="=", value=Whole(text=text)):
            key = ".".join(str(part) for part in node.path)
            return Q(IExact(KeyTextTransform(key, "metadata"), text))
        case Term(field="session", op="=", value=Whole(text=text)):
            return Q(pk__in=keys_named(ids.Kind.SESSION, node.value)) | Q(name__iexact=text)
        case _:
            return None
