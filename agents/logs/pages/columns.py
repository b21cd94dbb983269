"""Choose the columns of a list: the default ones, or those in the URL or the reader's cookie."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from agents.logs.pages.lists import ALWAYS, COLUMNS, MORE, NUMBERS, TITLES, TITLES_OF_LEVEL
from agents.query.tree import Level


@dataclass(frozen=True, slots=True)
class ListColumn:
    name: str
    title: str
    shown: bool
    is_number: bool
    fixed: bool


def columns(request: HttpRequest, level: Level) -> list[ListColumn]:
    """Return all columns of a level in order, with whether they are shown."""
    visible = _chosen(request, level)
    return [
        ListColumn(
            name,
            gettext(TITLES_OF_LEVEL.get((level, name), TITLES[name])),
            name in visible,
            name in NUMBERS,
            name in ALWAYS,
        )
        for name in all_names(level)
    ]


def all_names(level: Level) -> tuple[str, ...]:
    """Return the names of all columns: the optional ones come before the status, which stays last."""
    *usual, status = COLUMNS[level]
    return (*usual, *MORE[level], status)


def hidden_classes(list_columns: list[ListColumn]) -> str:
    """Return the CSS classes by which a table hides columns."""
    return " ".join(f"no-{column.name}" for column in list_columns if not column.shown)


def _chosen(request: HttpRequest, level: Level) -> set[str]:
    names = request.GET.getlist("col") or request.COOKIES.get(f"columns-{level}", "").split(".")
    valid = {name for name in names if name in all_names(level)}
    return valid | ALWAYS if valid else {*COLUMNS[level]}
