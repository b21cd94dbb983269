"""Reading a query text character by character, and saying where it went wrong.

Knows blanks, quotes and positions; must not know fields or operators.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.base.errors import QuerySyntax
from agents.query.tree import MAX_CHARACTERS

_BLANKS = re.compile(r"\s*")
_BARE = re.compile(r'[^\s()"]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_STAR = re.compile(r"\*")
_ESCAPED = re.compile(r"\\(.)|(\*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def error(text: str, message: str, start: int, *, end: int | None = None, better: str | None = None) -> QuerySyntax:
    """The error at ``start``. ``better`` is what should stand from ``start`` to ``end``: the
    suggestion is then the whole text, put right."""
    suggestion = None if better is None else text[:start] + better + text[start if end is None else end :]
    return QuerySyntax(message, position=start, suggestion=suggestion)


def caret(text: str, position: int) -> str:
    """Two lines for a terminal: what is around the position, and a mark under it."""
    start = max(position - 40, 0)
    return f"{one_line(text[start : position + 40])}\n{' ' * (position - start)}^"


def shown(text: str) -> str:
    """A piece of a query as messages quote it: on one line, cut at 40 characters."""
    return f'"{one_line(text if len(text) <= 40 else text[:39] + "…")}"'


def one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A bare or quoted piece of ``source``, from ``start`` to ``end``. ``parts`` are what stands
    between its stars; in quotes ``\\*`` is no star, and one right before (``led``) or behind them
    (``starred``) counts too."""

    source: str
    start: int
    end: int
    parts: tuple[str, ...]
    bare: bool = True
    starred: bool = False
    led: bool = False

    @property
    def value(self) -> str:
        return "*".join(self.parts)

    def wrong(self, message: str, *, better: str | None = None) -> QuerySyntax:
        return error(self.source, message, self.start, end=self.end, better=better)


@dataclass(slots=True)
class Scanner:
    """A text and the place reached in it."""

    text: str
    at: int = 0

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    @property
    def at_quote(self) -> bool:
        """Whether quotes open here, or behind a star that stands here."""
        return self.text.startswith(('"', '*"'), self.at)

    def blanks(self) -> None:
        found = _BLANKS.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what the pattern matches here, if it does."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def bare(self) -> Scalar | None:
        """Read up to the next blank, parenthesis or quote; None when one is here."""
        found = self.take(_BARE)
        if found is None:
            return None
        parts = tuple(found[0].split("*"))
        return Scalar(self.text, found.start(), self.at, parts, starred=parts[-1] == "", led=parts[0] == "")

    def quoted(self) -> Scalar:
        """Read what stands in the quotes that open here, or behind a star."""
        start, led = self.at, self.take(_STAR) is not None
        found = self.take(_QUOTED)
        if found is None:
            rest = self.text[self.at :]
            raise self.wrong('This " is never closed', better=None if rest.endswith("\\") else rest + '"')
        starred = self.take(_STAR) is not None
        parts = (*([""] if led else ()), *_parts(found[1]), *([""] if starred else ()))
        return Scalar(self.text, start, self.at, parts, bare=False, starred=starred, led=led)

    def wrong(self, message: str, at: int | None = None, *, better: str | None = None) -> QuerySyntax:
        """The error here, or at ``at``; ``better`` replaces all that follows."""
        start = self.at if at is None else at
        return error(self.text, message, start, end=len(self.text), better=better)


def unquoted(inner: str) -> str:
    """What stands in quotes, backslashes taken away."""
    return "*".join(_parts(inner))


def _parts(inner: str) -> tuple[str, ...]:
    """The same, cut at the stars that have no backslash."""
    parts, last = [""], 0
    for found in _ESCAPED.finditer(inner):
        parts[-1] += inner[last : found.start()] + (found[1] or "")
        if found[2]:
            parts.append("")
        last = found.end()
    parts[-1] += inner[last:]
    return tuple(parts)


def refuse_unreadable(text: str) -> None:
    """Raise for a text that is too long, and at the first character that no query can hold, as no
    database would take it."""
    refuse_long(text)
    found = _CONTROL.search(text)
    if found:
        raise error(text, "A character that cannot be searched for", found.start(), end=found.end(), better=" ")


def refuse_long(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        message = f"A query has at most {MAX_CHARACTERS:,} characters, this one {len(text):,}"
        raise QuerySyntax(message, position=MAX_CHARACTERS)
