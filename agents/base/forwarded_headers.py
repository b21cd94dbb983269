"""Validates HTTP headers of a caller that are forwarded to tool servers."""

from __future__ import annotations

import re

from agents.base.errors import InvalidRequest

HEADERS_KEY = "mcp_headers"


_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


_RESERVED = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})


def validate_headers(headers: object, param: str) -> dict[str, str]:
    """Return the headers if they may be sent. Raises InvalidRequest, without their values."""
    if not isinstance(headers, dict) or len(headers) > 50:
        raise InvalidRequest(f"{param}: headers must be an object of at most 50 texts.", param=param)
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER.fullmatch(name) or name.lower() in _RESERVED:
            raise InvalidRequest(f"{param}: '{str(name)[:100]}' is not a header that can be sent.", param=param)
        if not isinstance(value, str) or len(value) > 8192 or not (value.isascii() and value.isprintable()):
            raise InvalidRequest(f"{param}: the value of '{name}' must be printable ASCII.", param=param)
    return dict(headers)
