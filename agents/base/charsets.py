"""The charsets that bodies and documents may be written in."""

from __future__ import annotations

from encodings import normalize_encoding
from encodings.aliases import aliases

_CHARSETS = (frozenset(aliases) | frozenset(aliases.values()) | {"cp874", "koi8_u", "utf_8_sig"}) - {
    *("utf_7", "u7", "utf7", "unicode_1_1_utf_7")  # it may hold halves of characters, which no store takes
}
"""What they may be written in. Looked up here first, as Python remembers every name it was ever asked for;
and not all it has will do: Punycode takes time that grows with the square of the length."""


def python_name(charset: str) -> str | None:
    """What Python calls a charset of documents; None for one that is not known."""
    name = normalize_encoding(charset.lower()) if len(charset) < 80 else ""
    return name if name in _CHARSETS else None
