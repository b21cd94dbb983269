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
            phrases[side].append(phrase_of(value))
    return SearchPhrases(tuple(phrases["in"]), tuple(phrases["out"]), tuple(phrases["error"]))


MAX_FIND_CHARS = 200
"""Characters of the text of a search in one turn or session."""


def searched_phrases(query: Query | None) -> list[tuple[str, SearchPhrase]]:
    """The words that a query searches texts for, with the field they are searched in; those that it excludes, and
    parts of words, left out."""
    terms = _search_terms(query.tree) if query is not None else ()
    return list(dict.fromkeys(term for term in terms if term[0] in _SIDES_OF_FIELD and not term[1].inside))


def find_text(query: Query | None) -> str:
    """The words of a query as the text of a search in one turn or session: all that are searched for, as long as
    there is room."""
    text = ""
    for part in dict.fromkeys(_find_part(phrase) for _, phrase in searched_phrases(query)):
        text = f"{text} {part}".strip() if part and len(f"{text} {part}") <= MAX_FIND_CHARS else text
    return text


def _find_part(phrase: SearchPhrase) -> str:
    plain = " ".join(phrase.text.replace('"', " ").split())
    if not tokens(plain):
        return ""
    return f'"{plain}"{"*" if phrase.prefix else ""}' if " " in plain else plain


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


LEAD = 24
"""Characters shown before the first match of a line."""
_FIRST_CHARS = 40
"""Characters of a line that are seen in a list, however narrow it is."""


def line_parts(text: str, phrases: Sequence[Phrase]) -> list[TextPart]:
    """Split a text for one line of a list, where its end may be cut off: what comes long before a match is left out,
    between matches too."""
    spans = _match_spans(text, [phrase for phrase in phrases if phrase.tokens])
    shown, end = "", 0
    for start, stop in sorted(spans):
        begin = _word_start(text, start - LEAD, end)
        if begin <= (end + LEAD if end else _FIRST_CHARS - LEAD):
            shown += text[end:stop] if stop > end else ""
        else:
            shown += f"{' ' if shown else ''}… {text[begin:stop]}"
        end = max(end, stop)
    return text_parts(shown + text[end:], phrases)


def _word_start(text: str, position: int, least: int) -> int:
    """The start of the first word from a position on, which does not go back behind ``least``."""
    if position <= least:
        return least
    blank = text.find(" ", position - 1, position + LEAD // 2)
    return blank + 1 if blank >= 0 else position


def has_match(text: str, phrase: Phrase) -> bool:
    return bool(phrase.tokens) and bool(_match_spans(text, [phrase]))


def snippet(text: str, phrases: Sequence[Phrase], size: int, first: Iterable[Phrase] = ()) -> list[TextPart]:
    """About ``size`` characters around the first match, on one line, in parts; none without a match. ``first`` are the
    phrases to begin at, by default all."""
    plain = " ".join(text.split())
    spans = _match_spans(plain, [phrase for phrase in first or phrases if phrase.tokens])
    if not spans:
        return []
    at = min(span[0] for span in spans)
    start = 0 if at <= _FIRST_CHARS else _word_start(plain, at - LEAD, 0)
    head = "… " if start else ""
    return text_parts(f"{head}{plain[start : start + size]}", phrases)


def phrase_of(phrase: SearchPhrase) -> Phrase:
    return Phrase(tuple(tokens(phrase.text)), phrase.prefix)


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
