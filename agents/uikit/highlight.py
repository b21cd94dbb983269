"""Where the words that were searched for stand in a text, so that a page can mark them.

Finds what the index finds: the same tokens, phrases in their order, a prefix where one was asked
for. Gives plain pieces; whoever renders escapes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import category

from agents.base.tokenizer import words
from agents.query.tree import And, FieldTerm, FreeText, LevelScope, Node, Or, Query, SearchPhrase

Piece = tuple[str, bool]
"""A part of a text, and whether it was searched for."""

_RUN = re.compile(r"\w+")
_SIDES = {"text": ("in", "out", "error"), "in": ("in",), "out": ("out",), "error": ("error",)}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words next to each other; the last only begun with where ``prefix``."""

    words: tuple[str, ...]
    prefix: bool


@dataclass(frozen=True, slots=True)
class Searched:
    """What a query looks for in what was asked, answered, and said of a failure."""

    asked: tuple[Phrase, ...] = ()
    answered: tuple[Phrase, ...] = ()
    error: tuple[Phrase, ...] = ()


NOTHING = Searched()


def searched(query: Query | None) -> Searched:
    """The phrases of a query, those it excludes left out."""
    if query is None:
        return NOTHING
    found: dict[str, list[Phrase]] = {"in": [], "out": [], "error": []}
    for field, value in _wanted(query.tree):
        for side in _SIDES.get(field, ()):
            found[side].append(Phrase(tuple(words(value.text)), value.prefix))
    return Searched(tuple(found["in"]), tuple(found["out"]), tuple(found["error"]))


def _wanted(node: Node) -> Iterator[tuple[str, SearchPhrase]]:
    match node:
        case FreeText(words=value):
            yield "text", value
        case FieldTerm(field=field, op="contains" | "=", value=SearchPhrase() as value):
            yield field, value
        case And(nodes=nodes) | Or(nodes=nodes):
            for inner in nodes:
                yield from _wanted(inner)
        case LevelScope(quantifier="any", node=inner):
            yield from _wanted(inner)


def pieces(text: str, phrases: Iterable[Phrase]) -> list[Piece]:
    """The text cut where a phrase begins and ends; together the pieces are the text."""
    spans = _merged(_found(text, [phrase for phrase in phrases if phrase.words]))
    out, at = [], 0
    for start, end in spans:
        out += [(text[at:start], False), (text[start:end], True)]
        at = end
    out.append((text[at:], False))
    return [piece for piece in out if piece[0]]


def around(text: str, phrases: Iterable[Phrase], size: int) -> list[Piece]:
    """The pieces of a text near its first hit, about so many characters on one line; none without a hit."""
    plain = " ".join(text.split())
    spans = _found(plain, [phrase for phrase in phrases if phrase.words])
    if not spans:
        return []
    start = max(min(span[0] for span in spans) - size // 3, 0)
    head = "…" if start else ""
    return pieces(f"{head}{plain[start : start + size]}", phrases)


def _found(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    if not phrases:
        return []
    tokens = list(_tokens(text))
    return [
        (tokens[place][1], tokens[place + len(phrase.words) - 1][2])
        for phrase in phrases
        for place in range(len(tokens) - len(phrase.words) + 1)
        if _stands(phrase, [token[0] for token in tokens[place : place + len(phrase.words)]])
    ]


def _stands(phrase: Phrase, here: list[str]) -> bool:
    *first, last = phrase.words
    return here[:-1] == first and (here[-1].startswith(last) if phrase.prefix else here[-1] == last)


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word as the index folds it, with its place in the text as written."""
    for start, end in _runs(text):
        folded = words(text[start:end])
        if len(folded) == 1:
            yield folded[0], start, end
            continue
        for place in range(start, end):  # Chinese, Japanese, Korean: a word per character
            for word in words(text[place]):
                yield word, place, place + 1


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Letters, digits and ``_`` with their combining marks, which ``\\w`` does not know."""
    if text.isascii():
        yield from (match.span() for match in _RUN.finditer(text))
        return
    start = -1
    for place, character in enumerate(text):
        inside = character.isalnum() or character == "_" or category(character)[0] == "M"
        if inside and start < 0:
            start = place
        elif not inside and start >= 0:
            yield start, place
            start = -1
    if start >= 0:
        yield start, len(text)
