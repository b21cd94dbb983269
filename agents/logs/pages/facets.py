"""Build the column of facets beside the logs: values with counts, as links that edit the query.

A click includes a value, the small minus excludes it, a click on a chosen value removes it again.
Every link has a complete query in its URL; there is no other state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from agents.base.errors import QuerySyntax
from agents.base.tokenizer import fold
from agents.query.chips import term_of, with_term, without_term
from agents.query.tree import ExactValue, FieldTerm, Not, Period, Query, conjuncts, disjuncts
from agents.uikit.elements import status_label, type_label
from agents.uikit.sources import source_label

VISIBLE_VALUES = 8
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
_LABELS: Mapping[str, Callable[[str], str]] = {"status": status_label, "type": type_label, "source": source_label}


@dataclass(frozen=True, slots=True)
class FacetLink:
    """A value of a facet. ``state`` is ``in``, ``out`` or empty; ``share`` the percentage of the largest count.
    Without ``url`` it is plain text: no query can contain it. ``exclude`` is empty where it makes no sense."""

    name: str
    count: int | None
    share: int
    state: str
    url: str
    exclude: str


@dataclass(frozen=True, slots=True)
class FacetMenu:
    name: str
    title: str
    values: tuple[FacetLink, ...]
    more: tuple[FacetLink, ...] = ()


Choices = Mapping[str, Sequence[tuple[str, str, int]]]
"""By field: (value in a query, label, number of rows)."""
Link = Callable[[str], str]
"""Returns the URL of the list under a query."""


def facets(query: Query, choices: Choices, link: Link) -> list[FacetMenu]:
    """Build the facets: time first, then the counted fields in the order of the titles, without empty ones."""
    builder = _LinkBuilder(query, link, dict(_states(query)))
    menus = [_periods(builder)]
    for field, title in _TITLES.items():
        values = _values(builder, field, choices.get(field, ()))
        if values:
            menus.append(_facet(field, gettext(title), values))
    return menus


@dataclass(frozen=True, slots=True)
class _LinkBuilder:
    """Builds links that edit the query; ``states`` are its chosen and excluded values."""

    query: Query
    link: Link
    states: Mapping[tuple[str, str], str]

    def value(self, field: str, value: str, name: str, count: int | None = None, maximum: int = 0) -> FacetLink:
        """Build the links of a value; ``maximum`` is the largest count of its field."""
        state = self.states.get((field, fold(value)), "")
        url = exclude = ""
        try:
            term = term_of(field, value)
            url = self.link((without_term if state else with_term)(self.query, term).text)
            if count is not None and state != "out":
                exclude = self.link(with_term(self.query, term, exclude=True).text)
        except QuerySyntax:
            pass  # a name no query can hold, or a query that would grow too long: shown, not offered
        share = round(100 * count / maximum) if count and maximum else 0
        return FacetLink(name, count, max(share, 1) if count else 0, state, url, exclude)


def _facet(field: str, title: str, values: Sequence[FacetLink]) -> FacetMenu:
    """Put the most frequent values, and those already chosen, before the others."""
    further = values[VISIBLE_VALUES:]
    chosen = [value for value in further if value.state]
    return FacetMenu(
        field, title, (*values[:VISIBLE_VALUES], *chosen), tuple(value for value in further if not value.state)
    )


def _values(builder: _LinkBuilder, field: str, counted: Sequence[tuple[str, str, int]]) -> list[FacetLink]:
    maximum = max((count for _, _, count in counted), default=0)
    translate = _LABELS.get(field)
    counted_values = {fold(value) for value, _, _ in counted}
    # what was chosen can be removed again, also where no row has it
    uncounted = [(value, value, 0) for name, value in builder.states if name == field and value not in counted_values]
    return [
        builder.value(field, value, translate(value) if translate else label, count, maximum)
        for value, label, count in (*counted, *uncounted)
    ]


def _periods(builder: _LinkBuilder) -> FacetMenu:
    values = tuple(builder.value("started", text, gettext(name)) for text, name in _PERIODS.items())
    return FacetMenu("started", gettext("Started"), values)


def _states(query: Query) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the values that the query's conditions choose and exclude: (field, folded value), ``in`` or ``out``."""
    for node in conjuncts(query.tree):
        inner, state = (node.node, "out") if isinstance(node, Not) else (node, "in")
        for condition in disjuncts(inner):
            match condition:
                case FieldTerm(field=field, op="=", value=ExactValue(text=text)):
                    yield (field, fold(text)), state
                case FieldTerm(field="started", value=Period(text=text)) if text:
                    yield ("started", fold(text)), state
