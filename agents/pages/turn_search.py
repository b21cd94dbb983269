"""Searching inside a turn's page: the words asked for, the steps that hold them, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from agents.base.tokenizer import tokens
from agents.query.tree import SearchPhrase
from agents.record.store import search_in_turn
from agents.uikit import highlight, json_view
from agents.uikit.highlight import Phrase

LONGEST = 200
"""Characters of what is searched for."""

_ASKED = re.compile(r'"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class Finding:
    """What was searched for in a turn and where it is: ``hit`` is the place among the steps that hold it of
    the one the page is about, from 0; None where there is none."""

    text: str
    phrases: tuple[Phrase, ...]
    numbers: tuple[int, ...]
    complete: bool
    hit: int | None

    @property
    def total(self) -> int:
        return len(self.numbers)

    @property
    def place(self) -> int:
        return 0 if self.hit is None else self.hit + 1

    def query(self, hit: int) -> str:
        """The page's query string for another hit."""
        return "?" + urlencode({"find": self.text, "hit": hit + 1})

    @property
    def before(self) -> str:
        """Where the hit before this one is."""
        return "" if self.hit is None or self.total < 2 else self.query((self.hit - 1) % self.total)

    @property
    def behind(self) -> str:
        return "" if self.hit is None or self.total < 2 else self.query((self.hit + 1) % self.total)

    @property
    def number_before(self) -> int:
        """The step of the hit before this one."""
        return self.numbers[((self.hit or 0) - 1) % self.total]

    @property
    def number_behind(self) -> int:
        """The step of the hit behind it."""
        return self.numbers[((self.hit or 0) + 1) % self.total]

    @property
    def number(self) -> int | None:
        """The step of this hit."""
        return None if self.hit is None else self.numbers[self.hit]


def asked(text: str) -> list[SearchPhrase]:
    """The phrases of what was typed: quoted ones, and words of which only the beginning may be given."""
    found = [(quoted, False) if quoted else (plain, True) for quoted, plain in _ASKED.findall(text[:LONGEST])]
    return [SearchPhrase(text=part, prefix=prefix) for part, prefix in found if tokens(part)]


def finding(turn: int, text: str, hit: str) -> Finding | None:
    """Search in a turn; None where nothing was asked for."""
    wanted = asked(text)
    if not wanted:
        return None
    found = search_in_turn.steps_with(turn, wanted)
    phrases = tuple(Phrase(tuple(tokens(each.text)), each.prefix) for each in wanted)
    number = int(hit) - 1 if hit.isdecimal() and len(hit) < 7 else 0
    place = min(max(number, 0), len(found.numbers) - 1) if found.numbers else None
    return Finding(" ".join(text[:LONGEST].split()), phrases, found.numbers, found.complete, place)


_TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
_CLOSED = re.compile(r"<(textarea|option|title|svg|select)\b", re.IGNORECASE)
"""What cannot hold a mark, or is no part of what was said."""


def marked(html: str, phrases: Sequence[Phrase]) -> SafeString:
    """HTML of our own making with the words that were searched for marked in it. What was escaped is
    escaped again."""
    out, closed = [], ""
    for piece in _TAG.split(html):
        if piece.startswith("<"):
            closed = _closing(piece, closed)
            out.append(piece)
        else:
            out.append(piece if closed else _marked(piece, phrases))
    return json_view.show_control_chars("".join(out))


def _closing(tag: str, closed: str) -> str:
    """The tag that ends what must be left alone; nothing outside of it."""
    if closed:
        return "" if tag.lower().startswith(closed) else closed
    found = _CLOSED.match(tag)
    return f"</{found[1].lower()}" if found and not tag.endswith("/>") else ""


def _marked(text: str, phrases: Sequence[Phrase]) -> str:
    if not text.strip():
        return text
    pieces = highlight.text_parts(unescape(text), phrases)
    if not any(hit for _piece, hit in pieces):
        return text
    return "".join(f"<mark>{escape(piece)}</mark>" if hit else escape(piece) for piece, hit in pieces)
