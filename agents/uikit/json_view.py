"""Values as people read them: JSON laid out and coloured, text as it is, the beginning of what is large.

Works on the text of a value, never on decoded numbers: ``129.0`` stays ``129.0`` and ``1e400``
stays what was sent. The text is hostile; what would turn the direction of writing is made visible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

import msgspec
from django.utils.safestring import SafeString, mark_safe

from agents.uikit import format

SHOWN = 20_000
"""Characters of a value on a page; all of it is behind a link."""
ONE_LINE = 92
FORMAT_LIMIT = 4_000_000
"""Beyond it the beginning is shown as it came."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A value, or its beginning: then ``cut`` is the size of the whole, ``312 KB``."""

    html: SafeString
    is_json: bool
    cut: str = ""


def shown(text: str, whole: int = 0) -> Shown:
    """A value as JSON when it is an object or a list, else as text. ``whole`` are the bytes of one of which
    ``text`` is only the beginning."""
    if whole:
        return _begun(text[:SHOWN], whole)
    formatted = _formatted(text) if text.lstrip()[:1] in {"{", "["} else None
    body = text if formatted is None else formatted
    start = body[:SHOWN]
    html = visible(escape(start)) if formatted is None else coloured(start)
    return Shown(html, formatted is not None, size(len(text.encode(errors="replace"))) if len(body) > SHOWN else "")


def _begun(start: str, whole: int) -> Shown:
    is_json = bool(_JSON_START.match(start))
    return Shown(coloured(start) if is_json else visible(escape(start)), is_json, size(whole))


_JSON_START = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"\d-])")


def _formatted(text: str) -> str | None:
    """One line when it is short, else indented; None when this is no JSON."""
    if len(text) > FORMAT_LIMIT:
        return text if text.rstrip()[-1:] in {"}", "]"} else None
    try:
        line = msgspec.json.format(text, indent=0)
        return line if len(line) <= ONE_LINE else msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))(?P<colon>\s*:)?|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)',
    re.DOTALL,
)


def coloured(json: str) -> SafeString:
    """JSON text, or the beginning of one, with its keys, strings, numbers and words told apart."""
    return visible(_TOKEN.sub(_colour, escape(json, quote=False)))


def _colour(token: re.Match[str]) -> str:
    string, colon, number, word = token.groups()
    if string and colon:
        return f'<span class="j-key">{string}</span>{colon}'
    if string:
        return f'<span class="j-str">{string}</span>'
    return f'<span class="j-num">{number or word}</span>'


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def visible(html: str) -> SafeString:
    """Escaped text in which nothing is hidden: control characters and turns of direction are shown
    by their number."""
    return mark_safe(_CONTROL.sub(_control, html))  # noqa: S308 - the caller escaped it


def _control(match: re.Match[str]) -> str:
    return f'<span class="control">U+{ord(match[0]):04X}</span>'


def size(octets: int) -> str:
    """``312 KB``, ``1.4 MB``."""
    if octets < 1_000:
        return f"{octets} B"
    if octets < 1_000_000:
        return f"{octets / 1_000:.0f} KB"
    return f"{format.decimal(octets / 1_000_000, 1)} MB"
