"""Detect texts that a spreadsheet would run as a formula, by their first visible character, in any width."""

from __future__ import annotations

import unicodedata

_SIGNS = frozenset("=+-@")
_ENDS = frozenset("\t\r\n")
"""Characters that end a cell or a line for some readers, so that the next one begins a cell."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that are invisible."""


def is_formula(text: str) -> bool:
    """Whether a text is a formula for some spreadsheet: also behind blanks and invisible characters, which some
    skip, and in the full-width, small and superscript forms, which some take for the plain one (NFKC)."""
    if text[:1].isascii() and text[:1].isalnum():
        return False  # nearly all cells
    for sign in text:
        if sign in _ENDS:
            return True
        if not _is_unseen(sign):
            return unicodedata.normalize("NFKC", sign)[0] in _SIGNS
    return False


def _is_unseen(sign: str) -> bool:
    """Whether a character is invisible: blanks (Z), control and format characters (C), combining marks (M), fillers."""
    return sign in _FILLERS or unicodedata.category(sign)[0] in "ZCM"
