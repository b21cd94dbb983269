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
from agents.logs.pages import amount_bounds
from agents.logs.pages.amount_bounds import AmountBounds
from agents.logs.schemas.numbers import Facet
from agents.query.chips import term_of, with_term, without_term
from agents.query.fields import FIELDS
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
    "env": gettext_noop("Environment"),
    "prompt": gettext_noop("Prompt"),
    "error.message": gettext_noop("Error message"),
    "source": gettext_noop("Source"),
}
PERIODS = {
    "-15m": gettext_noop("last 15 minutes"),
    "-1h": gettext_noop("last hour"),
    "-24h": gettext_noop("last 24 hours"),
    "-7d": gettext_noop("last 7 days"),
    "-30d": gettext_noop("last 30 days"),
    "today": gettext_noop("today"),
    "yesterday": gettext_noop("yesterday"),
}
"""Lengths of time that are offered, as a query writes them."""
RATING = "rating"
_RATINGS = {"up": gettext_noop("rated up"), "down": gettext_noop("rated down")}
MAX_PATHS = 12
"""Paths of the metadata that are offered."""
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
    """A facet: the values that are seen, and ``more`` to unfold. ``rest`` counts those that were not read. One of an
    amount has ``bounds`` instead of values."""

    name: str
    title: str
    values: tuple[FacetLink, ...]
    more: tuple[FacetLink, ...] = ()
    rest: int = 0
    bounds: AmountBounds | None = None


Choice = tuple[str, str, int]
"""(value in a query, label, number of rows)."""
Link = Callable[[str], str]
"""Returns the URL of the list under a query."""


def facets(query: Query, counted: Sequence[Facet], link: Link, scores: Sequence[str] = ()) -> list[FacetMenu]:
    """Build the facets of the counted fields in the order of the titles, without empty ones, then what is not counted:
    ratings, and the bounds of amounts and of these scores."""
    builder, by_field = _builder(query, link), {facet.field: facet for facet in counted}
    menus = []
    for field in _TITLES:
        facet = by_field.get(field)
        if values := _values(builder, field, choices_of(facet) if facet else ()):
            menus.append(_menu(field, values, facet.more if facet else 0))
    if RATING in FIELDS and query.level in FIELDS[RATING].levels:
        ratings = [builder.value(RATING, value, gettext(name)) for value, name in _RATINGS.items()]
        menus.append(FacetMenu(RATING, gettext("Rating"), tuple(ratings)))
    amounts = amount_bounds.bounds(query, scores)
    return [*menus, *(FacetMenu(amount.field, amount.title, (), bounds=amount) for amount in amounts)]


def metadata_menu(urls: Mapping[str, str]) -> FacetMenu:
    """Build the facet of the metadata: each path leads to the page of its values."""
    paths = tuple(FacetLink(path, None, 0, "", url, "") for path, url in urls.items())
    return FacetMenu("meta", gettext("Metadata"), paths[:MAX_PATHS])


def choices_of(facet: Facet) -> list[Choice]:
    return [(value.value, value.label, value.count) for value in facet.values if value.count]


def value_links(query: Query, field: str, choices: Sequence[Choice], link: Link) -> list[FacetLink]:
    """Build the links of these values of a field alone."""
    return _values(_builder(query, link), field, choices)


def facet_title(field: str) -> str:
    """Return the title of a field; of a path into the metadata its name."""
    return gettext(_TITLES[field]) if field in _TITLES else field


def _builder(query: Query, link: Link) -> _LinkBuilder:
    return _LinkBuilder(query, link, dict(_states(query)))


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


def _menu(field: str, values: Sequence[FacetLink], rest: int) -> FacetMenu:
    """Put the most frequent values, and those already chosen, before the others."""
    further = values[VISIBLE_VALUES:]
    chosen = [value for value in further if value.state]
    more = tuple(value for value in further if not value.state)
    return FacetMenu(field, facet_title(field), (*values[:VISIBLE_VALUES], *chosen), more, rest)


def _values(builder: _LinkBuilder, field: str, counted: Sequence[Choice]) -> list[FacetLink]:
    maximum = max((count for _, _, count in counted), default=0)
    translate = _LABELS.get(field)
    counted_values = {fold(value) for value, _, _ in counted}
    # what was chosen can be removed again, also where no row has it
    uncounted = [(value, value, 0) for name, value in builder.states if name == field and value not in counted_values]
    return [
        builder.value(field, value, translate(value) if translate else label, count, maximum)
        for value, label, count in (*counted, *uncounted)
    ]


def period_links(query: Query, link: Link) -> list[FacetLink]:
    """Build the links of the lengths of time."""
    builder = _builder(query, link)
    return [builder.value("started", text, gettext(name)) for text, name in PERIODS.items()]


def _states(query: Query) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the values that the query's conditions choose and exclude: (field, folded value), ``in`` or ``out``."""
    for node in conjuncts(query.tree):
        inner, state = (node.node, "out") if isinstance(node, Not) else (node, "in")
        for condition in disjuncts(inner):
            match condition:
                case FieldTerm(field=field, path=path, op="=", value=ExactValue(text=text)):
                    yield (".".join((field, *map(str, path))), fold(text)), state
                case FieldTerm(field="started", value=Period(text=text)) if text:
                    yield ("started", fold(text)), state
