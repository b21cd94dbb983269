"""Format numbers, amounts and days for the reader's language: ``1,204`` or ``1.204``, ``$0.50`` or ``0,50 $``.

This is for text that people read. Queries, URLs, SVG and exports hold numbers as programs write them,
whatever the language; so does a number that a template shows without a filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import get_language


@dataclass(frozen=True, slots=True)
class LocaleFormat:
    """The formats of a language. ``marks`` maps the English separators of thousands and decimals; ``large`` has
    the units of 10**9 and 10**6. ``months`` are abbreviated as in the browser; ``day`` joins day and month."""

    marks: dict[int, str]
    large: tuple[str, str]
    dollars: str
    day: str
    months: tuple[str, ...]


_ENGLISH = LocaleFormat(
    marks={},
    large=("B", "M"),
    dollars="${}",
    day="{} {}",
    months=("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_BY_LANGUAGE = {
    "de": LocaleFormat(
        marks=str.maketrans({",": ".", ".": ","}),
        large=("Mrd.", "Mio."),
        dollars="{}\N{NO-BREAK SPACE}$",
        day="{}. {}",
        months=("Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."),
    ),
    "fr": LocaleFormat(
        marks=str.maketrans({",": "\N{NARROW NO-BREAK SPACE}", ".": ","}),
        large=("Md", "M"),
        dollars="{}\N{NO-BREAK SPACE}$",
        day="{} {}",
        months=("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
    ),
}


def _current() -> LocaleFormat:
    return _BY_LANGUAGE.get(get_language() or "", _ENGLISH)


def number(english: str) -> str:
    """A number, with or without a unit, from its English form. Most have no separator, and looking up the
    language takes longer than everything else here."""
    return english.translate(_current().marks) if "." in english or "," in english else english


def large(english: str, power: int) -> str:
    """A number of thousand millions (``power`` 0) or millions (1)."""
    return f"{number(english)} {_current().large[power]}"


def dollars(english: str) -> str:
    """An amount, from the English form of its number."""
    return _current().dollars.format(number(english))


def day(date: datetime) -> str:
    """``20 Nov``."""
    locale = _current()
    return locale.day.format(date.day, locale.months[date.month - 1])
