"""The bounds of amounts beside a list: two fields of a form each, and the query that they narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, gettext_noop

from agents.base.errors import QuerySyntax
from agents.query.chips import term_of, within, without_field
from agents.query.tree import Query, conjuncts
from agents.query.writer import condition_text, with_path

MAX_BOUND = 30
"""Letters of a bound."""
SCORE = "score."


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount that lists are narrowed by: what is typed, as a pattern of HTML and in words."""

    title: str
    example: str
    pattern: str
    hint: str


AMOUNTS: Mapping[str, Amount] = {
    "duration": Amount(
        gettext_noop("Duration"),
        "1s",
        r"[0-9.]+ *([uUµmM]?[sS]|[sS][eE][cC]|[mM][iI][nN]|[mMhHdD])",
        gettext_noop("A length of time with its unit, such as 250ms, 2s, 1m or 1h"),
    ),
    "tokens": Amount(
        gettext_noop("Tokens"), "1k", r"[0-9.]+ *[kKmM]?", gettext_noop("A number, such as 500, 1k or 1.5M")
    ),
    "cost": Amount(gettext_noop("Cost"), "$0.01", r"\$? *[0-9.]+", gettext_noop("Dollars, such as $0.05")),
}
_SCORE = Amount("", "0.5", r"-? *[0-9.]+ *[kKmM]?", gettext_noop("A number, such as 0.8, -1 or 1.5k"))


@dataclass(frozen=True, slots=True)
class AmountBounds:
    """The bounds of an amount as the query has them, empty where it has none; what may be typed."""

    field: str
    title: str
    low: str
    high: str
    example: str
    pattern: str
    hint: str


def bounds(query: Query, scores: Sequence[str]) -> Iterator[AmountBounds]:
    """Yield the bounds of the amounts and of these scores."""
    conditions = [condition_text(node) for node in conjuncts(query.tree)]
    for field, title, amount in _amounts(scores):
        low, high = (_bound(conditions, f"{with_path(field)}:{operator}") for operator in (">=", "<"))
        yield AmountBounds(field, title, low, high, amount.example, amount.pattern, gettext(amount.hint))


def _amounts(scores: Sequence[str]) -> Iterator[tuple[str, str, Amount]]:
    for field, amount in AMOUNTS.items():
        yield field, gettext(amount.title), amount
    for name in scores:
        yield f"{SCORE}{name}", name, _SCORE


def _bound(conditions: Sequence[str], start: str) -> str:
    values = (text.removeprefix(start) for text in conditions if text.startswith(start))
    return next((value for value in values if not value.startswith("=")), "")


def narrowed(query: Query, params: Mapping[str, str]) -> str | None:
    """Replace the bounds of the amount that a form sent, both empty to take them away; None where none sent any. A
    bound that is no amount stays in the text, where the bar marks it. Raises QuerySyntax for a query that gets too
    long."""
    field = next((name for key in params if (name := _field_of(key))), "")
    if not field:
        return None
    low, high = ("".join(params.get(f"{field}-{end}", "").split())[:MAX_BOUND] for end in ("from", "to"))
    texts = [text for text, value in ((f">={low}", low), (f"<{high}", high)) if value]
    named = with_path(field)
    others = without_field(query, named)
    result = others
    try:
        for text in texts:
            result = within(result, term_of(field, text))
    except QuerySyntax:
        return " ".join(filter(None, (others.text, *(f"{named}:{text}" for text in texts))))
    return result.text


def _field_of(key: str) -> str:
    """Return the field whose bound a parameter is; empty for other parameters."""
    field, _, end = key.rpartition("-")
    is_amount = field in AMOUNTS or (field.startswith(SCORE) and field != SCORE)
    return field if end in ("from", "to") and is_amount else ""
