"""What a file is, by what its sender says, by its name, and by how it begins."""

from __future__ import annotations

from agents.knowledge.providers.memory import texts

_BY_NAME = {
    "pdf": texts.PDF,
    "html": "text/html",
    "htm": "text/html",
    "md": "text/markdown",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "xml": "application/xml",
    "txt": "text/plain",
}
_NO_TEXT = ("image/", "audio/", "font/")
SEEN = 4096
"""Bytes of a beginning that are looked at."""


def of_file(filename: str, mime_type: str, head: bytes) -> str:
    """The type to read a file as. A sender's word counts where it can be read; clients guess by the name,
    though, and know few: then the name decides, and last whether it begins as text does."""
    if head.startswith(b"%PDF-"):
        return texts.PDF
    if texts.is_readable(mime_type):
        return mime_type
    named = _BY_NAME.get(filename.rpartition(".")[2].lower())
    if named:
        return named
    looks = not mime_type.lower().startswith(_NO_TEXT) and _is_text(head[:SEEN])
    return "text/plain" if looks else mime_type or "application/octet-stream"


def _is_text(head: bytes) -> bool:
    """Whether it is UTF-8, cut off wherever."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
    return b"\0" not in head
