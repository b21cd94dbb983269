"""An HTTP channel that answers refused requests with the API's error body.

Twisted's own channel closes the connection of a request that is too long or is no HTTP without a response, or with
an empty one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from twisted.web.http import HTTPChannel

from agents.base.api.error_bodies import anthropic_body, is_messages_path
from agents.base.errors import AgentsError, HeadersTooLarge, InvalidRequest, UrlTooLong
from agentsite import request_log

MAX_LINE = 16 * 1024
"""Bytes of a request line, and of each header."""
MAX_HEAD = 3 * MAX_LINE
"""Bytes of the request line and all headers: the longest URL leaves room for headers."""
MAX_LINGER, LINGER_S = 1024 * 1024, 2
"""Bytes that are still read from a refused caller, and for how long. Closing a connection with unread bytes
resets it, and the caller may lose the response."""


class ApiErrorChannel(HTTPChannel):
    """One connection; it answers what it refuses with an error of the API."""

    MAX_LENGTH, totalHeadersSize = MAX_LINE, MAX_HEAD
    transport: Any
    refused = False
    _swallowed = 0

    def refuse(self, error: AgentsError, path: str = "") -> None:
        """Send the error of a request, whose path may not be known, and end the connection."""
        if self.refused:
            return
        self.refused = True
        request_id = request_log.new_id()
        request_log.refused(error.status, request_id)
        self.transport.write(refusal(error, request_id, path))
        self.transport.loseWriteConnection()
        self.setTimeout(LINGER_S)  # type: ignore[no-untyped-call]  # untyped library

    def dataReceived(self, data: bytes) -> None:
        if not self.refused:
            super().dataReceived(data)  # type: ignore[no-untyped-call]  # untyped library
            return
        self._swallowed += len(data)
        if self._swallowed > MAX_LINGER:
            self.transport.loseConnection()

    def lineReceived(self, line: bytes) -> Any:
        if self._receivedHeaderSize + len(line) > self.totalHeadersSize:
            self.refuse(HeadersTooLarge(f"The headers are larger than {(MAX_HEAD - MAX_LINE) // 1024} KiB."))
        if not self.refused:
            super().lineReceived(line)  # type: ignore[no-untyped-call]  # untyped library
        return self.refused  # true: the remaining input is not read

    def lineLengthExceeded(self, line: bytes) -> None:
        excess = f"is longer than {MAX_LINE // 1024} KiB."
        is_first = self._receivedHeaderSize == 0
        self.refuse(UrlTooLong(f"The URL {excess}") if is_first else HeadersTooLarge(f"A header {excess}"))

    def headerReceived(self, line: bytes) -> bool:
        if self._receivedHeaderCount >= self.maxHeaders:
            self.refuse(HeadersTooLarge(f"There are more than {self.maxHeaders} headers."))
            return False
        return bool(super().headerReceived(line))  # type: ignore[no-untyped-call]  # untyped library

    def _respondToBadRequestAndDisconnect(self) -> None:
        self.refuse(InvalidRequest("This is not a request of HTTP/1.1.", code="bad_request"))


def refusal(error: AgentsError, request_id: str, path: str = "") -> bytes:
    """Return the complete HTTP response of an error."""
    is_anthropic = is_messages_path(path)
    body = msgspec.json.encode(anthropic_body(error, request_id) if is_anthropic else error.body(request_id))
    head = (
        f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nx-request-id: {request_id}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
