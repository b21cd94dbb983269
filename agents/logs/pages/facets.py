"""The column of facets beside the logs: what can be chosen, with counts, as links that edit the query.

A click includes a value, the small minus excludes it, a click on what is chosen takes it back.
Every link is a whole query in a URL; nothing is remembered anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from agents.base.errors import QuerySyntax
from agents.base.tokenizer import fold
from agents.query.chips import with_term, without_term
from agents.query.tree import ExactValue, FieldTerm, Not, Period, Query, conjuncts, disjuncts
from agents.uikit.elements import status_label, type_label
from agents.uikit.sources import source_label

SHOWN = 8
"""Values of a facet before "more"."""

_TITLES = {
    "status": gettext_noop("Status"),
    "agent": gettext_noop("Agent"),
    "model": gettext_noop("Model"),
    "type": gettext_noop("Step"),
    "tool": gettext_noop("Tool"),
    "user": gettext_noop("User"),
    "tag": gettext_noop("Tag"),
    "source": gettext_noop("Source"),
}
_PERIODS = {
    "-15m": gettext_noop("last 15 minutes"),
    "-1h": gettext_noop("last hour"),
    "-24h": gettext_noop("last 24 hours"),
    "-7d": gettext_noop("last 7 days"),
    "today": gettext_noop("today"),
}
_WORDS: Mapping[str, Callable[[str], str]] = {"status": status_label, "type": type_label, "source": source_label}


@dataclass(frozen=True, slots=True)
class Value:
    """``state`` is ``in``, ``out`` or empty; ``share`` of the largest count, in hundredths. Without
    ``url`` it can only be read: no query can name it. ``exclude`` is empty where it makes no sense."""

    name: str
    count: int | None
    share: int
    state: str
    url: str
    exclude: str


@dataclass(frozen=True, slots=True)
class Facet:
    name: str
    title: str
    values: tuple[Value, ...]
    more: tuple[Value, ...] = ()


Choices = Mapping[str, Sequence[tuple[str, str, int]]]
"""By field: what a query says, what people read, how many rows have it."""
Link = Callable[[str], str]
"""Leads to the list under a query."""


def facets(query: Query, choices: Choices, link: Link) -> list[Facet]:
    """Time first, then what the store counted, in the order of the titles; empty ones left out."""
    states = dict(_states(query))
    found = [_periods(query, states, link)]
    for field, title in _TITLES.items():
        values = _values(query, field, choices.get(field, ()), states, link)
        if values:
            found.append(_facet(field, gettext(title), values))
    return found


def _facet(field: str, title: str, values: Sequence[Value]) -> Facet:
    """The most frequent ones, and those already chosen, before the rest."""
    rest = values[SHOWN:]
    chosen = [value for value in rest if value.state]
    return Facet(field, title, (*values[:SHOWN], *chosen), tuple(value for value in rest if not value.state))


def _values(
    query: Query, field: str, counted: Sequence[tuple[str, str, int]], states: Mapping[tuple[str, str], str], link: Link
) -> list[Value]:
    most = max((count for _, _, count in counted), default=0)
    word = _WORDS.get(field)
    there = {fold(value) for value, _, _ in counted}
    # what was chosen can be taken back, also where nothing has it
    gone = [(value, value, 0) for name, value in states if name == field and value not in there]
    return [
        _value(query, field, value, word(value) if word else label, states, link, count=count, most=most)
        for value, label, count in (*counted, *gone)
    ]


def _value(
    query: Query,
    field: str,
    value: str,
    name: str,
    states: Mapping[tuple[str, str], str],
    link: Link,
    *,
    count: int | None = None,
    most: int = 0,
) -> Value:
    state = states.get((field, fold(value)), "")
    url = exclude = ""
    try:
        text = without_term(query.text, field, value) if state else with_term(query.text, field, value)
        url = link(text)
        if count is not None and state != "out":
            exclude = link(with_term(query.text, field, value, exclude=True))
    except QuerySyntax:
        pass  # a name no query can hold, or a query that would grow too long: shown, not offered
    share = round(100 * count / most) if count and most else 0
    return Value(name, count, max(share, 1) if count else 0, state, url, exclude)


def _periods(query: Query, states: Mapping[tuple[str, str], str], link: Link) -> Facet:
    values = tuple(_value(query, "started", text, gettext(name), states, link) for text, name in _PERIODS.items())
    return Facet("started", gettext("Started"), values)


def _states(query: Query) -> Iterator[tuple[tuple[str, str], str]]:
    """What the query's conditions choose and exclude: (field, folded value) → in, out."""
    for node in conjuncts(query.tree):
        inner, state = (node.node, "out") if isinstance(node, Not) else (node, "in")
        for each in disjuncts(inner):
            match each:
                case FieldTerm(field=field, op="=", value=ExactValue(text=text)):
                    yield (field, fold(text)), state
                case FieldTerm(field="started", value=Period(text=text)) if text:
                    yield ("started", fold(text)), state
