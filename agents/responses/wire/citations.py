"""Citations in a model's text: ``<|file-…|>`` marks become annotations and are removed.

The text of a search's results has such a mark for each file, and asks the model to repeat it after
what it took from the file. ``index`` is the offset in the text without marks, in characters.
"""

from __future__ import annotations

import re
from typing import Any

MARK = re.compile(r"\s?<\|(file-[A-Za-z0-9_-]{1,100})\|>")
_OPENING = "<|file-"
_MAX_MARK_CHARS = 110


def file_mark(file_id: str) -> str:
    """Return the mark of a file for the model."""
    return f"<|{file_id}|>"


def read_citations(text: str, names: dict[str, str]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text without marks, and its annotations. ``names`` are file names by id."""
    if _OPENING not in text:
        return text, []
    out: list[str] = []
    annotations: list[dict[str, Any]] = []
    length = end = 0
    for mark in MARK.finditer(text):
        out.append(text[end : mark.start()])
        length += mark.start() - end
        end = mark.end()
        annotations.append(_annotation(mark[1], names.get(mark[1], mark[1]), length))
    return "".join([*out, text[end:]]), annotations


def _annotation(file_id: str, name: str, index: int) -> dict[str, Any]:
    return {"type": "file_citation", "file_id": file_id, "filename": name, "index": index}


class CitationReader:
    """Removes marks from a text that arrives in chunks: the possible beginning of a mark is buffered."""

    def __init__(self) -> None:
        self._buffered = ""

    def take(self, chunk: str) -> str:
        """Add a chunk; returns the text that can be sent now."""
        text = self._buffered + chunk
        if "<" not in text and not text[-1:].isspace():
            self._buffered = ""
            return text
        text = MARK.sub("", text)
        cut = _open_mark(text)
        self._buffered = text[cut:]
        return text[:cut]

    def flush(self) -> str:
        """Return the buffered text, at the end."""
        buffered, self._buffered = self._buffered, ""
        return buffered


def _open_mark(text: str) -> int:
    """Return the offset of a mark that may be incomplete; the length of the text without one. The space
    before a mark belongs to it."""
    at = text.rfind("<")
    if at < 0 or len(text) - at > _MAX_MARK_CHARS or not _may_be_mark(text[at:]):
        at = len(text)
    return at - 1 if at and text[at - 1].isspace() else at


def _may_be_mark(tail: str) -> bool:
    return _OPENING.startswith(tail) or (
        tail.startswith(_OPENING) and re.fullmatch(r"[A-Za-z0-9_-]*\|?", tail[7:]) is not None
    )


def remove_marks(text: str) -> str:
    """Remove the marks of files from a text."""
    return MARK.sub("", text) if "<|file-" in text else text
