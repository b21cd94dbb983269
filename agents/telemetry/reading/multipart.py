"""Parser of multipart bodies as LangSmith's clients write them (RFC 7578).

Django's own parser makes files and form fields of parts; these are neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agents.telemetry.reading.decoding import FormatError

MAX_PARTS = 20_000
"""Parts of one body."""

_BOUNDARY = re.compile(r"""boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))""", re.IGNORECASE)
_NAME = re.compile(rb'(?:^|[;\s])name="([^"]{0,500})"', re.IGNORECASE)
_HEADERS = 8192


@dataclass(frozen=True, slots=True)
class MultipartPart:
    """One part of a multipart body."""

    name: str
    content_type: str
    content: bytes


def read_parts(body: bytes, content_type: str) -> Iterator[MultipartPart]:
    """Iterate over the parts that have a name, in order. Raises `FormatError` if the body is cut or is none."""
    boundary = _BOUNDARY.search(content_type)
    if boundary is None:
        raise FormatError("the content type is multipart/form-data with a boundary.", "Content-Type")
    delimiter = b"--" + (boundary[1] or boundary[2]).encode("utf-8", "replace")
    sections = (b"\r\n" + body).split(b"\r\n" + delimiter, MAX_PARTS + 2)
    if len(sections) > MAX_PARTS + 1:
        raise FormatError(f"a body has at most {MAX_PARTS} parts.")
    if len(sections) < 2 or not sections[-1].startswith(b"--"):
        raise FormatError("the multipart body is not complete: its last boundary is missing.")
    yield from filter(None, map(_part, sections[1:-1]))


def _part(section: bytes) -> MultipartPart | None:
    end = section.find(b"\r\n\r\n", 0, _HEADERS)
    headers = section[: max(end, 0)].splitlines()
    disposition = next((line for line in headers if line.lower().startswith(b"content-disposition:")), b"")
    kind = next((line for line in headers if line.lower().startswith(b"content-type:")), b"")
    name = _NAME.search(disposition)
    if name is None:
        return None
    return MultipartPart(
        name[1].decode("utf-8", "replace"), kind.partition(b":")[2].strip().decode("latin-1"), section[end + 4 :]
    )
