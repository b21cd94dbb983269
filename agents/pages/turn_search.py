"""Search inside a turn: parse the terms, find the steps that match, and mark the matches."""

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

MAX_SEARCH_CHARS = 200
"""Characters of a search text."""

_QUOTED_OR_WORD = re.compile(r'"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class TurnSearchResult:
    """The result of a search in a turn: ``numbers`` are the matching steps, ``hit`` is the index among them of the
    one the page shows, None if nothing matches."""

    text: str
    phrases: tuple[Phrase, ...]
    numbers: tuple[int, ...]
    complete: bool
    hit: int | None

    @property
    def total(self) -> int:
        return len(self.numbers)

    @property
    def position(self) -> int:
        return 0 if self.hit is None else self.hit + 1

    def query(self, hit: int) -> str:
        """The page's query string for another hit."""
        return "?" + urlencode({"find": self.text, "hit": hit + 1})

    @property
    def previous_query(self) -> str:
        """The query string of the previous hit; empty if there is no other."""
        return "" if self.hit is None or self.total < 2 else self.query((self.hit - 1) % self.total)

    @property
    def next_query(self) -> str:
        return "" if self.hit is None or self.total < 2 else self.query((self.hit + 1) % self.total)

    @property
    def previous_step(self) -> int:
        """The step number of the previous hit."""
        return self.numbers[((self.hit or 0) - 1) % self.total]

    @property
    def next_step(self) -> int:
        """The step number of the next hit."""
        return self.numbers[((self.hit or 0) + 1) % self.total]

    @property
    def number(self) -> int | None:
        """The step number of this hit."""
        return None if self.hit is None else self.numbers[self.hit]


def parse_phrases(text: str) -> list[SearchPhrase]:
    """Parse a search text into phrases: quoted ones, and words that match as prefixes."""
    parts = [
        (quoted, False) if quoted else (plain, True)
        for quoted, plain in _QUOTED_OR_WORD.findall(text[:MAX_SEARCH_CHARS])
    ]
    return [SearchPhrase(text=part, prefix=prefix) for part, prefix in parts if tokens(part)]


def search_turn(turn: int, text: str, hit: str) -> TurnSearchResult | None:
    """Search in a turn; None if the text has no terms."""
    search_phrases = parse_phrases(text)
    if not search_phrases:
        return None
    matches = search_in_turn.steps_with(turn, search_phrases)
    phrases = tuple(Phrase(tuple(tokens(phrase.text)), phrase.prefix) for phrase in search_phrases)
    number = int(hit) - 1 if hit.isdecimal() and len(hit) < 7 else 0
    index = min(max(number, 0), len(matches.numbers) - 1) if matches.numbers else None
    return TurnSearchResult(
        " ".join(text[:MAX_SEARCH_CHARS].split()), phrases, matches.numbers, matches.complete, index
    )


_TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
_UNMARKABLE = re.compile(r"<(textarea|option|title|svg|select)\b", re.IGNORECASE)
"""Elements that cannot contain a mark, or whose text is no content."""


def mark_matches(html: str, phrases: Sequence[Phrase]) -> SafeString:
    """Mark the matches in HTML that our templates rendered. Text between tags is unescaped, marked and escaped
    again."""
    out, closing = [], ""
    for part in _TAG.split(html):
        if part.startswith("<"):
            closing = _closing_tag(part, closing)
            out.append(part)
        else:
            out.append(part if closing else _mark_text(part, phrases))
    return json_view.show_control_chars("".join(out))


def _closing_tag(tag: str, closing: str) -> str:
    """The tag that ends an unmarkable element; empty outside of one."""
    if closing:
        return "" if tag.lower().startswith(closing) else closing
    match = _UNMARKABLE.match(tag)
    return f"</{match[1].lower()}" if match and not tag.endswith("/>") else ""


def _mark_text(text: str, phrases: Sequence[Phrase]) -> str:
    if not text.strip():
        return text
    parts = highlight.text_parts(unescape(text), phrases)
    if not any(hit for _part, hit in parts):
        return text
    return "".join(f"<mark>{escape(part)}</mark>" if hit else escape(part) for part, hit in parts)
