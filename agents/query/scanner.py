"""Scan a query text character by character and report errors with their positions.

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


def syntax_error(
    text: str, message: str, start: int, *, end: int | None = None, better: str | None = None
) -> QuerySyntax:
    """Build the error at ``start``. ``better`` is a replacement for the text from ``start`` to ``end``: the
    suggestion is then the corrected full text."""
    suggestion = None if better is None else text[:start] + better + text[start if end is None else end :]
    return QuerySyntax(message, position=start, suggestion=suggestion)


def caret(text: str, position: int) -> str:
    """Return two lines for a terminal: the text near the position, and a mark under it."""
    start = max(position - 40, 0)
    return f"{one_line(text[start : position + 40])}\n{' ' * (position - start)}^"


def excerpt(text: str) -> str:
    """Quote a part of a query for a message: on one line, cut at 40 characters."""
    return f'"{one_line(text if len(text) <= 40 else text[:39] + "…")}"'


def one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A bare or quoted value in ``source``, from ``start`` to ``end``. ``parts`` are the texts between its
    stars; in quotes ``\\*`` is no star, and a star right before or behind the quotes counts too."""

    source: str
    start: int
    end: int
    parts: tuple[str, ...]
    bare: bool = True
    trailing_star: bool = False
    leading_star: bool = False

    @property
    def value(self) -> str:
        return "*".join(self.parts)

    def error(self, message: str, *, better: str | None = None) -> QuerySyntax:
        return syntax_error(self.source, message, self.start, end=self.end, better=better)


@dataclass(slots=True)
class Scanner:
    """A text and the current position in it."""

    text: str
    position: int = 0

    @property
    def next(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.position : self.position + 1]

    @property
    def at_quote(self) -> bool:
        """Whether quotes open at the position, or right after a star there."""
        return self.text.startswith(('"', '*"'), self.position)

    def skip_blanks(self) -> None:
        match = _BLANKS.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what the pattern matches at the position; None where it does not match."""
        match = pattern.match(self.text, self.position)
        if match:
            self.position = match.end()
        return match

    def read_bare(self) -> Scalar | None:
        """Read up to the next blank, parenthesis or quote; None when one is at the position."""
        match = self.take(_BARE)
        if match is None:
            return None
        parts = tuple(match[0].split("*"))
        return Scalar(
            self.text, match.start(), self.position, parts, trailing_star=parts[-1] == "", leading_star=parts[0] == ""
        )

    def read_quoted(self) -> Scalar:
        """Read a quoted text, with a star before it or behind it."""
        start, leading = self.position, self.take(_STAR) is not None
        match = self.take(_QUOTED)
        if match is None:
            remaining = self.text[self.position :]
            raise self.error('This " is never closed', better=None if remaining.endswith("\\") else remaining + '"')
        trailing = self.take(_STAR) is not None
        parts = (*([""] if leading else ()), *_parts(match[1]), *([""] if trailing else ()))
        return Scalar(self.text, start, self.position, parts, bare=False, trailing_star=trailing, leading_star=leading)

    def error(self, message: str, at: int | None = None, *, better: str | None = None) -> QuerySyntax:
        """Build the error at the position, or at ``at``; ``better`` replaces all that follows."""
        start = self.position if at is None else at
        return syntax_error(self.text, message, start, end=len(self.text), better=better)


def unescape(inner: str) -> str:
    """Return the text between quotes without its backslashes."""
    return "*".join(_parts(inner))


def _parts(inner: str) -> tuple[str, ...]:
    """Return the same, split at the stars that have no backslash."""
    parts, end = [""], 0
    for match in _ESCAPED.finditer(inner):
        parts[-1] += inner[end : match.start()] + (match[1] or "")
        if match[2]:
            parts.append("")
        end = match.end()
    parts[-1] += inner[end:]
    return tuple(parts)


def refuse_unreadable(text: str) -> None:
    """Raise QuerySyntax for a text that is too long or has a character that no database can store."""
    refuse_long(text)
    match = _CONTROL.search(text)
    if match:
        raise syntax_error(text, "A character that cannot be searched for", match.start(), end=match.end(), better=" ")


def refuse_long(text: str) -> None:
    if len(text) > MAX_CHARACTERS:
        message = f"A query has at most {MAX_CHARACTERS:,} characters, this one {len(text):,}"
        raise QuerySyntax(message, position=MAX_CHARACTERS)
