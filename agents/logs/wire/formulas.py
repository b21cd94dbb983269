"""Whether a spreadsheet would take a text for a formula: by its first sign that can be seen, in any width."""

from __future__ import annotations

import unicodedata

_SIGNS = frozenset("=+-@")
_ENDS = frozenset("\t\r\n")
"""What ends a cell or a line for some readers, so that what follows stands at the beginning of one."""
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that have no picture."""


def is_formula(text: str) -> bool:
    """Also behind blanks and what cannot be seen, which some spreadsheets skip, and in the full-width,
    small and raised forms, which some take for the plain one (NFKC)."""
    if text[:1].isascii() and text[:1].isalnum():
        return False  # nearly all cells
    for sign in text:
        if sign in _ENDS:
            return True
        if not _is_unseen(sign):
            return unicodedata.normalize("NFKC", sign)[0] in _SIGNS
    return False


def _is_unseen(sign: str) -> bool:
    """Blanks (Z), control and format characters (C), marks that stand on a letter (M), fillers."""
    return sign in _FILLERS or unicodedata.category(sign)[0] in "ZCM"
