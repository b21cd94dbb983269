"""Which columns a list shows: those it begins with, or those that the URL or the reader's cookie names."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from agents.logs.pages.lists import ALWAYS, COLUMNS, MORE, NUMBERS, TITLES, TITLES_HERE
from agents.query.tree import Level


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    title: str
    shown: bool
    is_number: bool
    fixed: bool


def columns(request: HttpRequest, level: Level) -> list[Column]:
    """All columns of a level in their order, and which are shown."""
    shown = _chosen(request, level)
    return [
        Column(
            name, gettext(TITLES_HERE.get((level, name), TITLES[name])), name in shown, name in NUMBERS, name in ALWAYS
        )
        for name in every(level)
    ]


def every(level: Level) -> tuple[str, ...]:
    """The usual ones with the others before the status, which stays last."""
    *usual, last = COLUMNS[level]
    return (*usual, *MORE[level], last)


def hidden(found: list[Column]) -> str:
    """The classes by which a table hides what is not shown."""
    return " ".join(f"no-{column.name}" for column in found if not column.shown)


def _chosen(request: HttpRequest, level: Level) -> set[str]:
    asked = request.GET.getlist("col") or request.COOKIES.get(f"columns-{level}", "").split(".")
    known = {name for name in asked if name in every(level)}
    return known | ALWAYS if known else {*COLUMNS[level]}
