"""Suggest completions in the query bar: the fields, and existing values with counts."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, QuerySyntax, Unavailable
from agents.base.tokenizer import fold
from agents.logs.pages.lists import LIST_OF_LEVEL, LOGS
from agents.logs.store import listing, numbers, rows
from agents.query import parser
from agents.query.chips import term_of
from agents.query.fields import FIELDS, PRESENCE, QueryField, find_field
from agents.query.tree import And, FieldTerm, Level, Pattern
from agents.query.writer import condition_text
from agents.uikit import format
from agents.uikit.access import PageRequest, page

MAX_SUGGESTIONS = 8
_SCOPES = ("step(", "turn(", "session(", "no(step)(", "all(step)(", "last(turn)(", "count(step)>")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A completion: ``text`` is inserted, ``help`` is displayed beside it."""

    text: str
    help: str


@page("read")
def complete(request: PageRequest) -> HttpResponse:
    """Render the values of a field that begin with the text of ``word``, as options of the bar's list."""
    word, level = request.GET.get("word", "")[:200], request.GET.get("level", "turn")
    suggestions = values(request.actor, LIST_OF_LEVEL.get(level, LOGS).level, word)
    return render(request, "logs/_suggestions.html", {"suggestions": suggestions})


def fields() -> list[Suggestion]:
    """Return the names of fields, and the beginnings of scopes over other rows."""
    suggestions = [
        Suggestion(f"{field.name}{'.' if field.keyed else ':'}", gettext(field.help)) for field in FIELDS.values()
    ]
    return [*suggestions, Suggestion("has:", "what there is"), *(Suggestion(scope, "") for scope in _SCOPES)]


def values(actor: Actor, level: Level, word: str) -> list[Suggestion]:
    """Return the values that complete a word with a colon."""
    name, colon, prefix = word.partition(":")
    if name.lower() == "has":
        names = [candidate for candidate in (*FIELDS, *PRESENCE) if candidate.startswith(prefix.lower())]
        return [Suggestion(f"has:{candidate}", "") for candidate in names[:MAX_SUGGESTIONS]]
    resolved = find_field(name.split("."))
    if not colon or resolved is None or resolved[0].keyed:
        return []
    field, prefix = resolved[0], fold(prefix.strip('("'))
    fitting = [
        (value, count) for value, count in _values_of(actor, level, field, prefix) if fold(value).startswith(prefix)
    ]
    return [
        Suggestion(text, format.integer(count) if count else "")
        for value, count in fitting[:MAX_SUGGESTIONS]
        if (text := _term(field, value))
    ]


def _values_of(actor: Actor, level: Level, field: QueryField, prefix: str) -> list[tuple[str, int]]:
    """Return the values of a field in the rows the actor sees, most frequent first."""
    everything = parser.parse("", now_us=ids.now_us(), level=level)
    if field.name == "session":
        return _sessions(actor, prefix)
    try:
        [facet] = numbers.facets(actor, everything, [field.name], 200)
    except (InvalidRequest, Unavailable):
        return [(choice, 0) for choice in field.choices]
    counted = {value.value: value.count for value in facet.values}
    return [*counted.items(), *((choice, 0) for choice in field.choices if choice not in counted)]


def _sessions(actor: Actor, prefix: str) -> list[tuple[str, int]]:
    """Return the newest sessions whose names have this prefix."""
    name = FieldTerm(field="session", op="=", value=Pattern(parts=(prefix, "")))
    tree = name if prefix else And(nodes=())
    query = parser.from_json(tree.model_dump(mode="json"), now_us=ids.now_us(), level="session")
    keys = listing.page(actor, query, limit=MAX_SUGGESTIONS).keys
    return [(row.name, row.turn_count) for row in rows.of("session", keys) if row.name]


def _term(field: QueryField, value: str) -> str:
    try:
        return condition_text(term_of(field.name, value))
    except QuerySyntax:
        return ""
