"""Suggest completions in the query bar: the fields, and existing values with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast, get_args

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from agents.base import ids
from agents.base.access import Actor
from agents.base.errors import InvalidRequest, QuerySyntax, Unavailable
from agents.base.tokenizer import fold
from agents.logs.pages.facets import PERIODS
from agents.logs.pages.lists import LIST_OF_LEVEL, LOGS
from agents.logs.store import known_values, listing, numbers, rows
from agents.query import parser
from agents.query.chips import term_of
from agents.query.fields import FIELDS, PRESENCE, QueryField, find_field
from agents.query.tree import And, FieldTerm, Level, Pattern, Unit
from agents.query.writer import condition_text
from agents.uikit import format
from agents.uikit.access import PageRequest, page

MAX_SUGGESTIONS = 8
_TYPICAL: Mapping[Unit, Sequence[str]] = {
    "us": (">1s", ">10s", ">1m", "<500ms", "1s..10s"),
    "nano_usd": (">0.01", ">0.1", ">1", "<0.001"),
    "count": (">1000", ">10k", ">100k", "0"),
}
"""What is written behind the colon of a number, by its unit."""
_SCOPES = ("step(", "turn(", "session(", "no(step)(", "all(step)(", "last(turn)(", "count(step)>")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A completion: ``text`` is inserted, ``help`` is displayed beside it."""

    text: str
    help: str


@page("read")
def complete(request: PageRequest) -> HttpResponse:
    """Render what completes ``word``, as options of the bar's list: values of a field, or paths into one."""
    word, level = request.GET.get("word", "")[:200], request.GET.get("level", "turn")
    of_level = LIST_OF_LEVEL.get(level, LOGS).level
    suggestions = values(request.actor, of_level, word) if ":" in word else paths(request.actor, word)
    return render(request, "logs/_suggestions.html", {"suggestions": suggestions})


def paths(actor: Actor, word: str) -> list[Suggestion]:
    """Return the paths into a field of JSON that complete a word without a colon, those of most rows first."""
    name, dot, prefix = word.partition(".")
    if not dot or name not in get_args(known_values.Source):
        return []
    rows: Counter[str] = Counter()
    samples: dict[str, str] = {}
    for (path, value), count in known_values.pairs(actor, cast("known_values.Source", name)).most_common():
        rows[path] += count
        samples.setdefault(path, value)
    fitting = [path for path, _ in rows.most_common() if path.lower().startswith(prefix.lower())]
    return [Suggestion(f"{name}.{path}:", samples[path]) for path in fitting[:MAX_SUGGESTIONS]]


def fields() -> list[Suggestion]:
    """Return the names of fields, and the beginnings of scopes over other rows."""
    suggestions = [
        Suggestion(f"{field.name}{'.' if field.keyed else ':'}", gettext(field.help)) for field in FIELDS.values()
    ]
    return [*suggestions, Suggestion("has:", gettext("what a row has")), *(Suggestion(scope, "") for scope in _SCOPES)]


def values(actor: Actor, level: Level, word: str) -> list[Suggestion]:
    """Return the values that complete a word with a colon."""
    name, colon, prefix = word.partition(":")
    if name.lower() == "has":
        names = [candidate for candidate in (*FIELDS, *PRESENCE) if candidate.startswith(prefix.lower())]
        return [Suggestion(f"has:{candidate}", "") for candidate in names[:MAX_SUGGESTIONS]]
    resolved = find_field(name.split("."))
    if not colon or resolved is None:
        return []
    field, path = resolved
    if field.kind in ("number", "time"):
        return _typical(field, name, prefix)
    prefix = fold(prefix.strip('("'))
    if field.keyed:
        return _at_path(actor, field, path, prefix)
    fitting = [
        (value, count) for value, count in _values_of(actor, level, field, prefix) if fold(value).startswith(prefix)
    ]
    return [
        Suggestion(text, format.integer(count) if count else "")
        for value, count in fitting[:MAX_SUGGESTIONS]
        if (text := _term(field.name, value))
    ]


def _typical(field: QueryField, name: str, prefix: str) -> list[Suggestion]:
    """Return times or amounts as they are written, with what they say."""
    if field.kind == "time":
        offered = {text: gettext(label) for text, label in PERIODS.items()}
    else:
        offered = dict.fromkeys(_TYPICAL.get(field.unit or "any", (field.example,)), "")
    return [Suggestion(f"{name}:{text}", label) for text, label in offered.items() if text.startswith(prefix)]


def _at_path(actor: Actor, field: QueryField, path: Sequence[str | int], prefix: str) -> list[Suggestion]:
    """Return the values at a path of JSON in the newest rows."""
    if field.name not in get_args(known_values.Source):
        return []
    name = ".".join(map(str, path))
    counted = known_values.pairs(actor, cast("known_values.Source", field.name)).most_common()
    fitting = [(value, count) for (at, value), count in counted if at == name and fold(value).startswith(prefix)]
    return [
        Suggestion(text, format.integer(count))
        for value, count in fitting[:MAX_SUGGESTIONS]
        if (text := _term(f"{field.name}.{name}", value))
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


def _term(field: str, value: str) -> str:
    try:
        return condition_text(term_of(field, value))
    except QuerySyntax:
        return ""
