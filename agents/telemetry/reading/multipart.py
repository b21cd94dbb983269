"""The parts of a multipart body, as LangSmith's clients write them (RFC 7578).

Django's own reader makes files and form fields of parts; these are neither.
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
    name: str
    content_type: str
    content: bytes


def read_parts(body: bytes, content_type: str) -> Iterator[MultipartPart]:
    """Those that have a name, in order. Raises `Misshapen` if the body is cut or is none."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        raise FormatError("the content type is multipart/form-data with a boundary.", "Content-Type")
    mark = b"--" + (found[1] or found[2]).encode("utf-8", "replace")
    pieces = (b"\r\n" + body).split(b"\r\n" + mark, MAX_PARTS + 2)
    if len(pieces) > MAX_PARTS + 1:
        raise FormatError(f"a body has at most {MAX_PARTS} parts.")
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise FormatError("the multipart body is not complete: its last boundary is missing.")
    yield from filter(None, map(_part, pieces[1:-1]))


def _part(piece: bytes) -> MultipartPart | None:
    end = piece.find(b"\r\n\r\n", 0, _HEADERS)
    headers = piece[: max(end, 0)].splitlines()
    disposition = next((line for line in headers if line.lower().startswith(b"content-disposition:")), b"")
    kind = next((line for line in headers if line.lower().startswith(b"content-type:")), b"")
    name = _NAME.search(disposition)
    if name is None:
        return None
    return MultipartPart(
        name[1].decode("utf-8", "replace"), kind.partition(b":")[2].strip().decode("latin-1"), piece[end + 4 :]
    )
