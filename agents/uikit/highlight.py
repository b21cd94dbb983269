"""Find the terms of a search in a text, so that a page can mark them.

Matches what the index matches: the same tokens, phrases in their order, prefixes where the query has
them. Returns plain text; the caller escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import category

from agents.base.tokenizer import tokens
from agents.query.tree import And, FieldTerm, FreeText, LevelScope, Node, Or, Query, SearchPhrase

TextPart = tuple[str, bool]
"""A part of a text, and whether it matches."""

_RUN = re.compile(r"\w+")
_SIDES_OF_FIELD = {"text": ("in", "out", "error"), "in": ("in",), "out": ("out",), "error": ("error",)}


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens next to each other; with ``prefix`` the last may be the beginning of a word."""

    tokens: tuple[str, ...]
    prefix: bool


@dataclass(frozen=True, slots=True)
class SearchPhrases:
    """The phrases of a query by the text they are searched in: input, output, error message."""

    input: tuple[Phrase, ...] = ()
    output: tuple[Phrase, ...] = ()
    error: tuple[Phrase, ...] = ()


NO_PHRASES = SearchPhrases()


def search_phrases(query: Query | None) -> SearchPhrases:
    """The phrases of a query, those it excludes left out."""
    if query is None:
        return NO_PHRASES
    phrases: dict[str, list[Phrase]] = {"in": [], "out": [], "error": []}
    for field, value in _search_terms(query.tree):
        for side in _SIDES_OF_FIELD.get(field, ()):
            phrases[side].append(Phrase(tuple(tokens(value.text)), value.prefix))
    return SearchPhrases(tuple(phrases["in"]), tuple(phrases["out"]), tuple(phrases["error"]))


def _search_terms(node: Node) -> Iterator[tuple[str, SearchPhrase]]:
    match node:
        case FreeText(words=value):
            yield "text", value
        case FieldTerm(field=field, op="contains" | "=", value=SearchPhrase() as value):
            yield field, value
        case And(nodes=nodes) | Or(nodes=nodes):
            for inner in nodes:
                yield from _search_terms(inner)
        case LevelScope(quantifier="any", node=inner):
            yield from _search_terms(inner)


def text_parts(text: str, phrases: Iterable[Phrase]) -> list[TextPart]:
    """Split a text where matches begin and end; the parts joined are the text."""
    spans = _merge(_match_spans(text, [phrase for phrase in phrases if phrase.tokens]))
    out, position = [], 0
    for start, end in spans:
        out += [(text[position:start], False), (text[start:end], True)]
        position = end
    out.append((text[position:], False))
    return [part for part in out if part[0]]


def snippet(text: str, phrases: Iterable[Phrase], size: int) -> list[TextPart]:
    """About ``size`` characters around the first match, on one line, in parts; none without a match."""
    plain = " ".join(text.split())
    spans = _match_spans(plain, [phrase for phrase in phrases if phrase.tokens])
    if not spans:
        return []
    start = max(min(span[0] for span in spans) - size // 3, 0)
    head = "…" if start else ""
    return text_parts(f"{head}{plain[start : start + size]}", phrases)


def _match_spans(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    if not phrases:
        return []
    tokens = list(_tokens(text))
    return [
        (tokens[index][1], tokens[index + len(phrase.tokens) - 1][2])
        for phrase in phrases
        for index in range(len(tokens) - len(phrase.tokens) + 1)
        if _matches(phrase, [token[0] for token in tokens[index : index + len(phrase.tokens)]])
    ]


def _matches(phrase: Phrase, tokens: list[str]) -> bool:
    *first, last = phrase.tokens
    return tokens[:-1] == first and (tokens[-1].startswith(last) if phrase.prefix else tokens[-1] == last)


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each token as the index folds it, with its start and end in the original text."""
    for start, end in _runs(text):
        folded = tokens(text[start:end])
        if len(folded) == 1:
            yield folded[0], start, end
            continue
        for position in range(start, end):  # Chinese, Japanese, Korean: a word per character
            for word in tokens(text[position]):
                yield word, position, position + 1


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of letters, digits and ``_`` with their combining marks, which ``\\w`` does not match."""
    if text.isascii():
        yield from (match.span() for match in _RUN.finditer(text))
        return
    start = -1
    for position, character in enumerate(text):
        inside = character.isalnum() or character == "_" or category(character)[0] == "M"
        if inside and start < 0:
            start = position
        elif not inside and start >= 0:
            yield start, position
            start = -1
    if start >= 0:
        yield start, len(text)
