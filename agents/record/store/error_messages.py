"""Makes messages of errors alike that differ in numbers and ids only, so that failures can be counted by them."""

from __future__ import annotations

import re

from agents.base.store.terms import MAX_LENGTH

LEFT_OUT = "…"
MAX_READ = 2_000
"""Characters of a message that are looked at."""

_ID = (
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",  # a UUID
    r"0x[0-9a-fA-F]+",
    r"(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}",  # a hash, or the number of a trace
    r"(?=\w*\d)[A-Za-z]+_\w{8,}",  # call_…, resp_…
    r"[A-Za-z]{2,8}-(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}",  # org-…
)
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_HTTP_STATUS = r"[45]\d\d(?!\w|[.,:]\d)"
_NUMBER = rf"(?!{_HTTP_STATUS})\d+(?:[.,:]\d+)*(?:[munµ]?s|[kKMG]i?B)?"
_VARIES = re.compile(rf"(?<![\w.-])(?:{'|'.join((*_ID, _DATE, _NUMBER))})(?![\w-])|(?<=[A-Za-z]-)\d{{3,}}(?![\w.-])")


def alike(message: str) -> str:
    """Return what a message has in common with others of its kind, on one line: ``order 8222 was not found`` becomes
    ``order … was not found``. Status codes of HTTP and versions in names (``gpt-4o``) stay."""
    line = " ".join(message[:MAX_READ].split())
    return _VARIES.sub(LEFT_OUT, line)[:MAX_LENGTH].rstrip()
