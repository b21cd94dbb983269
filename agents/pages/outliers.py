"""The turns of a period worth a look: what failed, by error, and what took longest or cost most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext as _

from agents.base import ids
from agents.base.access import Actor
from agents.logs.schemas.numbers import Group
from agents.logs.schemas.rows import TurnRow
from agents.logs.store import listing, numbers, rows
from agents.pages.periods import Asked

LONGEST = 5
"""Turns shown of the slowest, and of the dearest."""
ERRORS, NEWEST = 5, 2
"""Types of error shown, and turns of each."""
WORDS = 300
"""Characters shown of what an error says."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Turns that failed with a type of error, and the newest of them with what it said: row, URL, words."""

    type: str
    count: int
    url: str
    rows: list[tuple[TurnRow, str, str]]


def failures(actor: Actor, here: Asked) -> list[Failure]:
    """Those of a query, by error, the most frequent first."""
    failed = here.also("status:failed")
    found = numbers.groups(actor, failed.query, ["error"], ERRORS).groups
    return [_failure(actor, failed.of("error", group.values[0]), group) for group in found]


def _failure(actor: Actor, asked: Asked, group: Group) -> Failure:
    newest = rows.of("turn", listing.newest(actor, asked.query, NEWEST))
    told = [(row, turn_url(row), row.error.message[:WORDS] if row.error else "") for row in newest]
    return Failure(group.labels[0] or _("no type"), group.stats.count, asked.url, told)


def largest(actor: Actor, here: Asked, amount: Literal["duration", "cost"]) -> list[tuple[TurnRow, str]]:
    """The slowest or dearest turns of a query with their URLs, the first first."""
    found = rows.of("turn", numbers.largest(actor, here.query, amount, LONGEST))
    return [(row, turn_url(row)) for row in found]


def turn_url(row: TurnRow) -> str:
    return f"/turns/{ids.public(ids.Kind.TURN, row.id)}/"
