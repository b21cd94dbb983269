"""What the query bar offers while one writes: the fields, and the values there are, with counts."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, QuerySyntax, Unavailable
from agents.base.tokenizer import fold
from agents.logs.store import listing, numbers, rows
from agents.query import parser
from agents.query.chips import with_term
from agents.query.fields import FIELDS, PRESENCE, QueryField, find_field
from agents.query.tree import And, FieldTerm, Level, Pattern
from agents.uikit import format
from agents.uikit.access import PageRequest, page

MOST = 8
_SCOPES = ("step(", "turn(", "session(", "no(step)(", "all(step)(", "last(turn)(", "count(step)>")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """``text`` is what is written, ``help`` what stands beside it."""

    text: str
    help: str


@page("read")
def complete(request: PageRequest) -> HttpResponse:
    """The values of a field that begin like ``word``, as options of the bar's list."""
    word, level = request.GET.get("word", "")[:200], request.GET.get("level", "turn")
    found = values(request.actor, level if level in ("session", "turn", "response", "step") else "turn", word)  # type: ignore[arg-type]  # one of these
    return render(request, "logs/_suggestions.html", {"suggestions": found})


def fields() -> list[Suggestion]:
    """The names of fields, and what can be asked of other rows."""
    named = [Suggestion(f"{field.name}{'.' if field.keyed else ':'}", gettext(field.help)) for field in FIELDS.values()]
    return [*named, Suggestion("has:", "what there is"), *(Suggestion(scope, "") for scope in _SCOPES)]


def values(actor: Actor, level: Level, word: str) -> list[Suggestion]:
    """The values behind the colon of a word that has one."""
    name, colon, begun = word.partition(":")
    if name.lower() == "has":
        there = [each for each in (*FIELDS, *PRESENCE) if each.startswith(begun.lower())]
        return [Suggestion(f"has:{each}", "") for each in there[:MOST]]
    found = find_field(name.split("."))
    if not colon or found is None or found[0].keyed:
        return []
    field, begun = found[0], fold(begun.strip('("'))
    fitting = [(value, count) for value, count in _known(actor, level, field, begun) if fold(value).startswith(begun)]
    return [
        Suggestion(text, format.integer(count) if count else "")
        for value, count in fitting[:MOST]
        if (text := _term(field, value))
    ]


def _known(actor: Actor, level: Level, field: QueryField, begun: str) -> list[tuple[str, int]]:
    """The values of a field that the actor's rows have, most frequent first."""
    everything = parser.parse("", now_us=ids.now_us(), level=level)
    if field.name == "session":
        return _sessions(actor, begun)
    try:
        [facet] = numbers.facets(actor, everything, [field.name], 200)
    except (InvalidRequest, Unavailable):
        return [(choice, 0) for choice in field.choices]
    counted = {value.value: value.count for value in facet.values}
    return [*counted.items(), *((choice, 0) for choice in field.choices if choice not in counted)]


def _sessions(actor: Actor, begun: str) -> list[tuple[str, int]]:
    """The newest sessions whose names begin so."""
    name = FieldTerm(field="session", op="=", value=Pattern(parts=(begun, "")))
    tree = name if begun else And(nodes=())
    query = parser.from_json(tree.model_dump(mode="json"), now_us=ids.now_us(), level="session")
    found = listing.page(actor, query, limit=MOST).keys
    return [(row.name, row.turn_count) for row in rows.of("session", found) if row.name]


def _term(field: QueryField, value: str) -> str:
    try:
        return with_term("", field.name, value)
    except QuerySyntax:
        return ""
