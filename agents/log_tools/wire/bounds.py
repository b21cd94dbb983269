"""Texts of a bounded length, and what is left of them."""

from __future__ import annotations

from collections.abc import Iterable

FOOTER_CHARS = 200
"""Characters that are kept free for how to go on."""


class BoundedText:
    """Paragraphs, as long as there is room for them. The first is cut where it has no room, any other is left out."""

    def __init__(self, max_chars: int) -> None:
        self._left = max_chars - FOOTER_CHARS
        self._parts: list[str] = []

    def add(self, text: str) -> bool:
        """Add a paragraph; returns whether there was room for it."""
        if len(text) + 1 > self._left:
            if self._parts:
                self._left = 0
                return False
            text = cut(text, self._left - 1)
        self._parts.append(text)
        self._left -= len(text) + 1
        return True

    def text(self, footer: str = "") -> str:
        return "\n".join([*self._parts, footer[:FOOTER_CHARS]] if footer else self._parts)


def window(chunks: Iterable[str], offset: int, size: int) -> tuple[str, bool]:
    """Return ``size`` characters of a text from ``offset`` on, and whether there are more."""
    parts, at, end = list[str](), 0, offset + size
    for chunk in chunks:
        if at + len(chunk) > offset:
            parts.append(chunk[max(offset - at, 0) : end - at])
        at += len(chunk)
        if at > end:
            return "".join(parts), True
    return "".join(parts), False


def part_of(chunks: Iterable[str], offset: int, max_chars: int) -> str:
    """Return the part of a text from ``offset`` on, with how to go on where there is more."""
    size = max_chars - FOOTER_CHARS
    text, more = window(chunks, offset, size)
    if more:
        return f"{text}\n[cut here. Go on: the same call with offset={offset + size}]"
    return text or f"[nothing behind offset {offset}]"


def cut(text: str, size: int) -> str:
    """Return the beginning of a text that is too long, with how much of it is missing."""
    if len(text) <= size:
        return text
    mark = f"… [{len(text):,} characters]"
    return text[: max(size - len(mark), 0)] + mark


def one_line(text: str, size: int) -> str:
    """Return the beginning of a text without its line breaks."""
    return cut(" ".join(text[: size * 4].split()) if len(text) > size * 4 else " ".join(text.split()), size)
