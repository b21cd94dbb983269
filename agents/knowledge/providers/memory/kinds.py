"""What a file is, by what its sender says, by its name, and by how it begins."""

from __future__ import annotations

from agents.knowledge.providers.memory import texts

_TYPES_BY_EXTENSION = {
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
_BINARY_PREFIXES = ("image/", "audio/", "font/")
HEAD_BYTES = 4096
"""Bytes of a beginning that are looked at."""


def of_file(filename: str, mime_type: str, head: bytes) -> str:
    """The type to read a file as. A sender's word counts where it can be read; clients guess by the name,
    though, and know few: then the name decides, and last whether it begins as text does."""
    if head.startswith(b"%PDF-"):
        return texts.PDF
    if texts.is_readable(mime_type):
        return mime_type
    by_name = _TYPES_BY_EXTENSION.get(filename.rpartition(".")[2].lower())
    if by_name:
        return by_name
    is_plain = not mime_type.lower().startswith(_BINARY_PREFIXES) and _is_text(head[:HEAD_BYTES])
    return "text/plain" if is_plain else mime_type or "application/octet-stream"


def _is_text(head: bytes) -> bool:
    """Whether it is UTF-8, cut off wherever."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
    return b"\0" not in head
