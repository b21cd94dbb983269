"""The text of a document: plain text, Markdown, HTML, CSV, JSON, YAML, PDF; given as text or as bytes.

What is in a document is somebody else's: sizes are capped before work begins, and a PDF is read by a
process of its own that can be stopped (`agents.knowledge.providers.memory.pdf`). Nothing is fetched here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import codecs
import csv
import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from agents.base.charsets import python_name
from agents.base.errors import InvalidRequest
from agents.knowledge.providers.memory import pdf

MAX_BYTES = 64 * 1024 * 1024
MAX_CHARS = 16 * 1024 * 1024
"""Characters of one document's text."""
PDF = "application/pdf"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_CSV = frozenset({"text/csv", "text/tab-separated-values"})
MAX_ROW_CHARS = 256 * 1024
"""Characters of a table's row."""
_TEXT_SUBTYPES = "json yaml x-yaml xml javascript x-ndjson jsonl toml sql"
_TEXT = frozenset(f"application/{word}" for word in _TEXT_SUBTYPES.split())


@dataclass(frozen=True, slots=True)
class Raw:
    """A document as it came. ``mime_type`` is without parameters, in lower case."""

    data: bytes
    mime_type: str
    charset: str = "utf-8"


def kind(mime_type: str) -> tuple[str, str]:
    """(media type, charset) of a Content-Type; utf-8 where it says none."""
    main, *parameters = mime_type.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return main.strip().lower(), value.strip().strip("\"'") or "utf-8"
    return main.strip().lower(), "utf-8"


def is_text(mime_type: str) -> bool:
    """Whether a document of this type is text as it stands."""
    main, _ = kind(mime_type)
    return main.startswith("text/") or main in _TEXT or main.endswith(("+json", "+xml", "+yaml"))


def is_image(mime_type: str) -> bool:
    return kind(mime_type)[0].startswith("image/")


def is_readable(mime_type: str) -> bool:
    """Whether its words can be had."""
    return is_text(mime_type) or kind(mime_type)[0] in {PDF, *_HTML}


def from_data_url(url: str, where: str) -> Raw:
    """A ``data:`` URL's document. Raises InvalidRequest, naming ``where``."""
    head, comma, body = url.removeprefix("data:").partition(",")
    if not comma:
        raise InvalidRequest(f"{where}: a data URL has a comma before its data.", param="documents")
    if len(body) > MAX_BYTES * 4 // 3 + 4:
        raise too_large(where)
    main, charset = kind(head.removesuffix(";base64") or "text/plain")
    try:
        data = base64.b64decode(unquote_to_bytes(body), validate=True) if head.endswith(";base64") else None
    except (binascii.Error, ValueError):
        raise InvalidRequest(f"{where}: the data URL's base64 cannot be read.", param="documents") from None
    return Raw(unquote_to_bytes(body) if data is None else data, main, charset)


def data_url(raw: Raw) -> str:
    """A document as a data URL."""
    return f"data:{raw.mime_type};base64,{base64.b64encode(raw.data).decode()}"


def too_large(where: str) -> InvalidRequest:
    message = f"{where}: the document is larger than {MAX_BYTES // 2**20} MiB."
    return InvalidRequest(message, param="documents", code="document_too_large")


async def text_of(raw: Raw, where: str) -> str:
    """Its words. Raises InvalidRequest, naming ``where``, for what has none or cannot be read."""
    if len(raw.data) > MAX_BYTES:
        raise too_large(where)
    if raw.mime_type == PDF:
        return await pdf.text_of(raw.data, where)
    if not is_readable(raw.mime_type):
        message = f"{where}: mime_type '{raw.mime_type[:80]}' has no text that can be read here."
        raise InvalidRequest(message, param="documents", code="document_type")
    return await asyncio.to_thread(lambda: plain_text(_decoded(raw, where), raw.mime_type, where))


def plain_text(text: str, mime_type: str, where: str) -> str:
    """The words of a text by its type: HTML without its tags, a CSV's rows with their columns' names."""
    if len(text) > MAX_CHARS:
        raise _too_long(where)
    main, _ = kind(mime_type)
    if main in _HTML:
        return _without_tags(text)
    return _rows(text, "\t" if main.endswith("values") else ",", where) if main in _CSV else text


def _too_long(where: str) -> InvalidRequest:
    message = f"{where}: the document has more than {MAX_CHARS:,} characters."
    return InvalidRequest(message, param="documents", code="document_too_large")


def _decoded(raw: Raw, where: str) -> str:
    if b"\0" in raw.data[:4096] and not raw.data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        message = f"{where}: mime_type is '{raw.mime_type[:80]}', but it is not text."
        raise InvalidRequest(message, param="documents", code="document_type")
    marks = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
    charset = next((name for mark, name in marks if raw.data.startswith(mark)), raw.charset)
    message = f"{where}: the charset '{charset[:40]}' is not known."
    unknown = InvalidRequest(message, param="documents", code="document_type")
    name = python_name(charset)
    if name is None:
        raise unknown
    try:
        return raw.data.decode(name)
    except LookupError:  # what it names is no text
        raise unknown from None
    except ValueError:
        message = f"{where}: it is not text in {charset[:40]}."
        raise InvalidRequest(message, param="documents", code="document_type") from None


# ------------------------------------------------------------------------------------------------ HTML

_HIDDEN_TAGS = "script|style|template|noscript|svg|math|iframe|textarea"
_BLOCK_TAGS = (
    "address|article|aside|blockquote|br|dd|div|dl|dt|figure|footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|"
    "table|td|th|title|tr|ul"
)
# each alternative either stops at the next angle bracket or eats all to the end: no text makes it look twice
_HIDDEN = re.compile(rf"<!--.*?(?:-->|\Z)|<({_HIDDEN_TAGS})\b.*?(?:</\1[\s>]|\Z)", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(rf"</?(?:{_BLOCK_TAGS})\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[/!?]?[a-zA-Z][^<>]*>")
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{8,}")


def _without_tags(text: str) -> str:
    """Its words, lines where blocks were. No tree is made of it: a hostile one is as deep as it is long."""
    bare = _TAG.sub("", _BREAK.sub("\0", _HIDDEN.sub(" ", " ".join(text.split()))))
    lines = (" ".join(line.split()) for line in html.unescape(_LONG_NUMBER.sub("", bare)).split("\0"))
    return "\n".join(line for line in lines if line)


# ------------------------------------------------------------------------------------------------- CSV


def _rows(text: str, delimiter: str, where: str) -> str:
    """Each row as ``column: value``: a chunk then makes sense without the first line. What is no table
    stays as it is. Raises InvalidRequest for a table whose columns' names make a text of it that is too long."""
    try:
        head, out = [], io.StringIO()
        for number, row in enumerate(_table(text, delimiter)):
            if number == 0:
                head = [name.strip() for name in row]
            elif any(row):
                out.write(f"\n{'; '.join(_cells(head, row))}")
            if out.tell() > MAX_CHARS:
                raise _too_long(where)
    except csv.Error:
        return text
    return out.getvalue()[1:] if len(head) > 1 and number else text


def _table(text: str, delimiter: str) -> Iterator[list[str]]:
    """Its rows, one at a time: all at once would be many times as large as the text. Raises csv.Error for what
    is no table, or has rows so long that nobody means one."""
    row_chars = 0

    def lines() -> Iterator[str]:
        nonlocal row_chars
        for line in io.StringIO(text, newline=""):
            row_chars += len(line)
            if row_chars > MAX_ROW_CHARS:
                raise csv.Error("a row that is too long")
            yield line

    for row in csv.reader(lines(), delimiter=delimiter):
        row_chars = 0
        yield row


def _cells(head: list[str], row: list[str]) -> list[str]:
    names = [*head, *[""] * (len(row) - len(head))]
    return [f"{name}: {cell}" if name else cell for name, cell in zip(names, row, strict=False) if cell.strip()]
