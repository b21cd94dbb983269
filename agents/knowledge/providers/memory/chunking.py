"""Cutting texts into chunks of so many tokens.

A token here is what most models' tokenisers come close to without knowing any of them: a run of up to
four letters or digits, a character of Chinese, Japanese or Korean, a mark, each with the blanks before
it. English comes out at about four characters a token. Chunks are pieces of the text as it is: nothing
is folded, and no character is parted from its marks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_WIDE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_MAX_TOKEN_CHARS = 64
"""Characters of one token, and of what is never cut: blanks and marks without end are not one of anything."""
_TOKEN = re.compile(
    rf"\s{{0,{_MAX_TOKEN_CHARS}}}(?:[^\W{_WIDE}]{{1,4}}|[{_WIDE}]|[^\w\s]|\S)|\s{{1,{_MAX_TOKEN_CHARS}}}"
)
_JOINER, _LAST_VARIATION = "\u200d", "\ufe0f"
MIN_TOKENS, MAX_TOKENS = 16, 8192


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A piece of a text and how many tokens it has."""

    text: str
    tokens: int


def count(text: str) -> int:
    """Tokens of a text."""
    return sum(1 for _ in _TOKEN.finditer(text))


def chunks(text: str, size: int = 512, overlap: int | None = None, *, limit: int | None = None) -> list[TextChunk]:
    """Pieces of at most ``size`` tokens, in order; each begins ``overlap`` tokens (a quarter, unless
    said) before the end of the one before it. Where it can, a piece begins with a word. No more than
    ``most`` of them: what is cut in vain costs as much as the rest."""
    return list(islice(_chunks(text, size, size // 4 if overlap is None else min(overlap, size - 1)), limit))


def _chunks(text: str, size: int, overlap: int) -> Iterator[TextChunk]:
    if not text.strip():
        return
    seams = _seams(text)
    bounds: list[int] = []  # of the piece and the end behind it; all of a long text's would be far larger than it
    while True:
        bounds.extend(islice(seams, size + 1 - len(bounds)))
        is_last = len(bounds) <= size
        tokens = min(size, len(bounds))
        chunk = _stripped(text[bounds[0] : len(text) if is_last else bounds[size]])
        if chunk:
            yield TextChunk(chunk, tokens)
        if is_last:
            return
        del bounds[: _word_start(text, bounds, size - overlap, 1)]


def _seams(text: str) -> Iterator[int]:
    """The places where tokens begin and the text may be cut."""
    last = 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        if start - last >= _MAX_TOKEN_CHARS or _is_seam(text, start, last):
            last = start
            yield start


def _stripped(text: str) -> str:
    """Without the blanks around it; one that bears a mark is no blank."""
    stripped = text.strip()
    start = len(text) - len(text.lstrip())
    if stripped and start and unicodedata.category(stripped[0])[0] == "M":
        return text[start - 1] + stripped
    return stripped


def _word_start(text: str, bounds: list[int], target: int, lowest: int) -> int:
    """The place of the token nearest before ``wanted`` that begins a word, if there is one close by."""
    for index in range(target, max(target - 16, lowest) - 1, -1):
        if text[bounds[index]].isspace():
            return max(index, lowest)
    return max(target, lowest)


def _is_seam(text: str, offset: int, last: int) -> bool:
    """Whether the text may be cut here: not inside a character made of several (marks, joined emoji,
    flags). ``last`` is where it may be cut before."""
    if offset == 0:
        return True
    character, previous = text[offset], text[offset - 1]
    if character.isascii() and previous != _JOINER:
        return True
    if previous == _JOINER or character in (_JOINER, _LAST_VARIATION) or unicodedata.category(character)[0] == "M":
        return False
    if "\U0001f3fb" <= character <= "\U0001f3ff":  # the colour of a skin
        return False
    return not (_is_flag(character) and _flags_before(text, offset, last) % 2)


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, offset: int, last: int) -> int:
    """Halves of flags before a place, back to the last cut: before that they are whole."""
    start = offset
    while start > last and _is_flag(text[start - 1]):
        start -= 1
    return offset - start
