"""Citations in a model's text: ``<|file-…|>`` marks become annotations and are cut out.

The text of a search's results names each file by such a mark, and tells the model to repeat it
behind what it took from there. ``index`` is the place in the text without marks, in characters.
"""

from __future__ import annotations

import re
from typing import Any

MARK = re.compile(r"\s?<\|(file-[A-Za-z0-9_-]{1,100})\|>")
_OPENING = "<|file-"
_LONGEST = 110


def mark(file_id: str) -> str:
    """How a file is named to the model."""
    return f"<|{file_id}|>"


def read(text: str, names: dict[str, str]) -> tuple[str, list[dict[str, Any]]]:
    """The text without marks, and its annotations. ``names`` are file names by id."""
    if _OPENING not in text:
        return text, []
    out: list[str] = []
    annotations: list[dict[str, Any]] = []
    length = end = 0
    for found in MARK.finditer(text):
        out.append(text[end : found.start()])
        length += found.start() - end
        end = found.end()
        annotations.append(_annotation(found[1], names.get(found[1], found[1]), length))
    return "".join([*out, text[end:]]), annotations


def _annotation(file_id: str, name: str, index: int) -> dict[str, Any]:
    return {"type": "file_citation", "file_id": file_id, "filename": name, "index": index}


class Reader:
    """The same for a text that comes in pieces: what may be the beginning of a mark is held back."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        """What can be shown now."""
        text = self._held + piece
        if "<" not in text and not text[-1:].isspace():
            self._held = ""
            return text
        text = MARK.sub("", text)
        cut = _open_mark(text)
        self._held = text[cut:]
        return text[:cut]

    def rest(self) -> str:
        """What was held back, at the end."""
        held, self._held = self._held, ""
        return held


def _open_mark(text: str) -> int:
    """Where a mark begins that may not be over; the length of the text where none does. A mark takes
    the one space before it along."""
    at = text.rfind("<")
    if at < 0 or len(text) - at > _LONGEST or not _may_be_mark(text[at:]):
        at = len(text)
    return at - 1 if at and text[at - 1].isspace() else at


def _may_be_mark(tail: str) -> bool:
    return _OPENING.startswith(tail) or (
        tail.startswith(_OPENING) and re.fullmatch(r"[A-Za-z0-9_-]*\|?", tail[7:]) is not None
    )


def unmarked(words: str) -> str:
    """What was said without its marks of files."""
    return MARK.sub("", words) if "<|file-" in words else words
