"""The tokenizer: splits a text into words, for the search index and for `matches`.

NFKC and casefold first; then letters (with their combining marks), digits and ``_`` stay and
everything else separates. Chinese, Japanese and Korean characters are words of their own, so
that a word in those scripts is a phrase of characters and needs no dictionary.

An index over `index_text` must split at blanks only and fold nothing: on FTS5 that is
``tokenize="ascii tokenchars '_'"``; its ``unicode61`` drops accents and knows fewer letters.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

MAX_WORD = 255
"""Characters of a word that are kept: a run of base64 must not outgrow an index entry."""

_CJK = re.compile(
    "["
    "\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"  # iteration marks, numerals
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # hiragana, katakana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9"  # Han
    "\uac00-\ud7a3"  # Hangul
    "\U00020000-\U0002a6df\U0002a700-\U0002ebe0\U0002f800-\U0002fa1d\U00030000-\U0003134a"  # Han
    "]"
)
_ASCII = bytes(code if chr(code).isalnum() or code == 0x5F else 0x20 for code in bytes(range(128)).lower()).ljust(256)


def tokens(text: str) -> list[str]:
    """Return the words of a text, folded, in their order. ``"Refund-Policy v2"`` → refund, policy, v2."""
    return index_text(text).split()


def _has_long(plain: str) -> bool:
    """Tell whether a text of words and blanks has a word above `MAX_WORD`. Such a word covers one of the positions at
    intervals of that length, so that only the words at those are measured."""
    for position in range(MAX_WORD, len(plain), MAX_WORD + 1):
        end = plain.find(" ", position)
        if (end if end >= 0 else len(plain)) - plain.rfind(" ", 0, position + 1) > MAX_WORD + 1:
            return True
    return False


def index_text(text: str) -> str:
    """Return the words of a text joined by blanks: what the index stores, what ``:=`` compares."""
    plain = text.encode().translate(_ASCII).decode() if text.isascii() else fold(text).translate(_classes)
    if _has_long(plain):
        return " ".join(word[:MAX_WORD] for word in plain.split())
    # prose has mostly single blanks: splitting it would cost more than everything else here
    return " ".join(plain.split()) if "  " in plain else plain.strip()


def fold(text: str) -> str:
    """Fold a text for comparison without case or compatibility forms: ``"Straße"`` → ``"strasse"``."""
    if text.isascii():
        return text.lower()
    return normalize("NFKC", normalize("NFKC", text).casefold())


class _Classes(dict[int, str]):
    """The table for `str.translate`, filled as characters occur."""

    def __missing__(self, code: int) -> str:
        if len(self) > 65_536:
            self.clear()
        self[code] = out = _class_of(chr(code))
        return out


def _class_of(character: str) -> str:
    """Return a character's replacement. Combining marks stay: without them, Hindi and Thai words fall apart."""
    if _CJK.match(character):
        return f" {character} "
    is_word_character = character.isalnum() or character == "_" or category(character)[0] == "M"
    return character if is_word_character else " "


_classes = _Classes()
