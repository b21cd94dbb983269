"""How the reader's language writes numbers, amounts and days: ``1,204`` or ``1.204``, ``$0.50`` or ``0,50 $``.

Only what people read is written so. Queries, addresses, drawings and exports hold numbers as
programs do, whatever the language; so does a number that a template shows without a filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import get_language


@dataclass(frozen=True, slots=True)
class Spelling:
    """``marks`` turns English marks of thousands and decimals into the language's; ``large`` are the
    units of 10**9 and 10**6. ``months`` are short as the browser's, ``day`` puts one behind its day."""

    marks: dict[int, str]
    large: tuple[str, str]
    dollars: str
    day: str
    months: tuple[str, ...]


_ENGLISH = Spelling(
    marks={},
    large=("B", "M"),
    dollars="${}",
    day="{} {}",
    months=("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_OTHERS = {
    "de": Spelling(
        marks=str.maketrans({",": ".", ".": ","}),
        large=("Mrd.", "Mio."),
        dollars="{}\N{NO-BREAK SPACE}$",
        day="{}. {}",
        months=("Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez."),
    ),
    "fr": Spelling(
        marks=str.maketrans({",": "\N{NARROW NO-BREAK SPACE}", ".": ","}),
        large=("Md", "M"),
        dollars="{}\N{NO-BREAK SPACE}$",
        day="{} {}",
        months=("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
    ),
}


def _here() -> Spelling:
    return _OTHERS.get(get_language() or "", _ENGLISH)


def number(english: str) -> str:
    """A number, with or without a unit, from its English form. Most have no mark to exchange, and to
    ask for the language takes longer than all the rest."""
    return english.translate(_here().marks) if "." in english or "," in english else english


def large(english: str, power: int) -> str:
    """So many thousand millions (``power`` 0) or millions (1)."""
    return f"{number(english)} {_here().large[power]}"


def dollars(english: str) -> str:
    """An amount, from the English form of its number."""
    return _here().dollars.format(number(english))


def day(moment: datetime) -> str:
    """``20 Nov``."""
    here = _here()
    return here.day.format(moment.day, here.months[moment.month - 1])
