"""Render values as HTML: JSON indented and highlighted, text as it is, only the beginning of a large value.

Works on the text of a value, never on decoded numbers: ``129.0`` stays ``129.0`` and ``1e400``
stays as it was sent. The text is hostile; characters that change the writing direction are made visible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

import msgspec
from django.utils.safestring import SafeString, mark_safe

from agents.uikit import format

MAX_CHARS = 20_000
"""Characters of a value on a page; a link leads to the full value."""
MAX_LINE_CHARS = 92
MAX_FORMAT_CHARS = 4_000_000
"""Characters beyond which JSON is not indented."""


@dataclass(frozen=True, slots=True)
class RenderedValue:
    """A value as HTML, or its beginning: then ``cut`` is the full size, such as ``312 KB``."""

    html: SafeString
    is_json: bool
    cut: str = ""


def render_value(text: str, total_bytes: int = 0) -> RenderedValue:
    """Render a value as JSON if it is an object or a list, else as text. ``total_bytes`` is its full size where
    ``text`` is only its beginning."""
    if total_bytes:
        return _render_beginning(text[:MAX_CHARS], total_bytes)
    formatted = _format_json(text) if text.lstrip()[:1] in {"{", "["} else None
    body = text if formatted is None else formatted
    start = body[:MAX_CHARS]
    html = show_control_chars(escape(start)) if formatted is None else highlight_json(start)
    return RenderedValue(
        html, formatted is not None, byte_size(len(text.encode(errors="replace"))) if len(body) > MAX_CHARS else ""
    )


def _render_beginning(start: str, total_bytes: int) -> RenderedValue:
    is_json = bool(_JSON_START.match(start))
    return RenderedValue(
        highlight_json(start) if is_json else show_control_chars(escape(start)), is_json, byte_size(total_bytes)
    )


_JSON_START = re.compile(r"\s*(?:\{\s*\"|\[\s*[\[{\"\d-])")


def _format_json(text: str) -> str | None:
    """JSON on one line if it is short, else indented; None if the text is not JSON."""
    if len(text) > MAX_FORMAT_CHARS:
        return text if text.rstrip()[-1:] in {"}", "]"} else None
    try:
        line = msgspec.json.format(text, indent=0)
        return line if len(line) <= MAX_LINE_CHARS else msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*+(?:"|\\?\Z))(?P<colon>\s*:)?|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)',
    re.DOTALL,
)


def highlight_json(json: str) -> SafeString:
    """Highlight keys, strings, numbers and literals of a JSON text, or of its beginning."""
    return show_control_chars(_TOKEN.sub(_highlight_token, escape(json, quote=False)))


def _highlight_token(token: re.Match[str]) -> str:
    string, colon, number, word = token.groups()
    if string and colon:
        return f'<span class="j-key">{string}</span>{colon}'
    if string:
        return f'<span class="j-str">{string}</span>'
    return f'<span class="j-num">{number or word}</span>'


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")


def show_control_chars(html: str) -> SafeString:
    """Show control characters, and those that change the writing direction, by their code point. The caller
    has escaped the text."""
    return mark_safe(_CONTROL.sub(_control, html))  # noqa: S308 - the caller escaped it


def _control(match: re.Match[str]) -> str:
    return f'<span class="control">U+{ord(match[0]):04X}</span>'


def byte_size(octets: int) -> str:
    """``312 KB``, ``1.4 MB``."""
    if octets < 1_000:
        return f"{octets} B"
    if octets < 1_000_000:
        return f"{octets / 1_000:.0f} KB"
    return f"{format.decimal(octets / 1_000_000, 1)} MB"
