"""The outliers of a period: failed turns by type of error, the slowest and the most expensive turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext as _

from agents.base import ids
from agents.base.access import Actor
from agents.logs.schemas.numbers import Group
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, numbers, rows
from agents.pages.periods import MetricsQuery
from agents.uikit.links import at

MAX_OUTLIERS = 5
"""Turns shown of the slowest, and of the most expensive."""
MAX_ERROR_TYPES, TURNS_PER_ERROR = 5, 2
"""Types of error shown, and turns of each."""
MAX_MESSAGE_CHARS = 300
"""Characters shown of an error message."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The turns that failed with a type of error; ``rows`` has the newest as (row, URL, error message)."""

    type: str
    count: int
    url: str
    rows: list[tuple[TurnRow, str, str]]


def failures(actor: Actor, query: MetricsQuery) -> list[Failure]:
    """The failed turns of a query by type of error, the most frequent first."""
    failed = query.also("status:failed")
    groups = numbers.groups(actor, failed.query, ["error"], MAX_ERROR_TYPES).groups
    return [_failure(actor, failed.where("error", group.values[0]), group) for group in groups]


def _failure(actor: Actor, query: MetricsQuery, group: Group) -> Failure:
    newest = rows.of("turn", listing.newest(actor, query.query, TURNS_PER_ERROR))
    messages = [(row, turn_url(row), row.error.message[:MAX_MESSAGE_CHARS] if row.error else "") for row in newest]
    return Failure(group.labels[0] or _("no type"), group.stats.count, query.url, messages)


def largest(actor: Actor, query: MetricsQuery, amount: Literal["duration", "cost"]) -> list[tuple[TurnRow, str]]:
    """The slowest or most expensive turns of a query with their URLs, the largest first."""
    turn_rows = rows.of("turn", numbers.largest(actor, query.query, amount, MAX_OUTLIERS))
    return [(row, turn_url(row)) for row in turn_rows]


def turn_url(row: TurnRow) -> str:
    return at(f"/turns/{ids.public(ids.Kind.TURN, row.id)}/")
