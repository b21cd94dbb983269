"""Search inside a turn: parse the terms, find the steps that match, and mark the matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import urlencode

from django.utils.safestring import SafeString

from agents.base.tokenizer import tokens
from agents.query.comparison import contains_phrase
from agents.query.tree import SearchPhrase
from agents.record.schemas import searchable_text
from agents.record.schemas.turns import TurnSnapshot
from agents.record.store import search_in_turn
from agents.record.store.search_in_turn import StepMatches
from agents.uikit import highlight, json_view
from agents.uikit.highlight import Phrase

MAX_SEARCH_CHARS = highlight.MAX_FIND_CHARS
"""Characters of a search text."""

MAX_PARTS = 5
"""Phrases that are searched one by one where no step has all of them."""
MAX_INPUT_CHARS = 200_000
"""Characters of the question that are searched."""

_QUOTED_OR_WORD = re.compile(r'"([^"]*)"?(\*)?|(\S+)')


@dataclass(frozen=True, slots=True)
class TurnSearchResult:
    """The result of a search in a turn: ``numbers`` are the matching steps, ``hit`` is the index among them of the
    one the page shows, None if nothing matches. ``has_parts``: no step has all of the phrases, those of ``numbers``
    have some. ``in_input``: the question has some."""

    text: str
    phrases: tuple[Phrase, ...]
    numbers: tuple[int, ...]
    complete: bool
    hit: int | None
    has_parts: bool = False
    in_input: bool = False

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
    """Parse a search text into phrases: quoted ones, and words that match as prefixes; so does the last one of a quoted
    phrase before a ``*``."""
    parts = [
        (quoted, bool(star)) if quoted else (plain, True)
        for quoted, star, plain in _QUOTED_OR_WORD.findall(text[:MAX_SEARCH_CHARS])
    ]
    return [SearchPhrase(text=part, prefix=prefix) for part, prefix in parts if tokens(part)]


def search_turn(turn: TurnSnapshot, text: str, hit: str) -> TurnSearchResult | None:
    """Search in a turn; None if the text has no terms."""
    search_phrases = parse_phrases(text)
    if not search_phrases:
        return None
    matches, has_parts = _matches(turn.key, search_phrases)
    input_text = searchable_text.of_input(turn.input_messages.decode())[:MAX_INPUT_CHARS]
    number = int(hit) - 1 if hit.isdecimal() and len(hit) < 7 else 0
    return TurnSearchResult(
        " ".join(text[:MAX_SEARCH_CHARS].split()),
        tuple(map(highlight.phrase_of, search_phrases)),
        matches.numbers,
        matches.complete,
        min(max(number, 0), len(matches.numbers) - 1) if matches.numbers else None,
        has_parts=has_parts,
        in_input=any(contains_phrase(input_text, phrase) for phrase in search_phrases),
    )


def _matches(turn: int, phrases: Sequence[SearchPhrase]) -> tuple[StepMatches, bool]:
    """Find the steps with all phrases or, where there are none, with some of them; and tell whether it is some."""
    matches = search_in_turn.steps_with(turn, phrases)
    if matches.numbers or len(phrases) == 1:
        return matches, False
    parts = [search_in_turn.steps_with(turn, [phrase]) for phrase in phrases[:MAX_PARTS]]
    numbers = sorted({number for part in parts for number in part.numbers})
    return StepMatches(tuple(numbers), all(part.complete for part in parts)), bool(numbers)


_TAG = re.compile(r"""(<(?:[^<>"']|"[^"]*"|'[^']*')*>)""")
_UNMARKABLE = re.compile(r"<(textarea|option|title|svg|select)\b", re.IGNORECASE)
"""Elements that cannot contain a mark, or whose text is no content."""


def mark_matches(html: str, phrases: Sequence[Phrase]) -> SafeString:
    """Mark the matches in HTML that our templates rendered, and open what they are folded in. Text between tags is
    unescaped, marked and escaped again."""
    out, folds, closing = list[str](), list[int](), ""
    for part in _TAG.split(html):
        if part.startswith("<"):
            closing = _closing_tag(part, closing)
            if part.startswith("<details"):
                folds.append(len(out))
            elif part == "</details>" and folds:
                folds.pop()
            out.append(part)
            continue
        text = part if closing else _mark_text(part, phrases)
        if text != part:
            for fold in folds:
                out[fold] = _opened(out[fold])
        out.append(text)
    return json_view.show_control_chars("".join(out))


def _opened(details: str) -> str:
    return details if re.search(r"\sopen\b(?!=)", details) else details.replace("<details", "<details open", 1)


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
