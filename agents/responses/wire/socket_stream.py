"""Encodes a response's events as the messages of a socket, with those of what its client says meanwhile."""

from __future__ import annotations

import msgspec

from agents.base.errors import AgentsError
from agents.record.schemas.content import Usage
from agents.responses.wire.responses import JSON, ResponseHead, ResponseState, encode
from agents.responses.wire.stream import ResponseStream


def error_message(error: AgentsError, lane: str | None = None) -> bytes:
    """Return the message that tells of an error."""
    told = error.body()["error"]
    fields = {"type": "error", "status": error.status, "error": {**told, "code": told["code"] or told["type"]}}
    return msgspec.json.encode(fields if lane is None else {**fields, "stream_id": lane})


class SocketStream(ResponseStream):
    """The messages of one response on a socket: the same events as JSON objects, each with the ``lane`` that its
    request named."""

    def __init__(self, head: ResponseHead, lane: str | None) -> None:
        super().__init__(head)
        self._lane = b"" if lane is None else b',"stream_id":%b' % encode(lane)

    def frame(self, kind: bytes, fields: bytes, number: int) -> bytes:
        return b'{"type":"%b",%b,"sequence_number":%d%b}' % (kind, fields, number, self._lane)

    def note(self, kind: str, fields: JSON) -> list[bytes]:
        """Return the message of an event beside those of the response, numbered among them."""
        self.send(kind.encode(), encode(fields)[1:-1])
        return self.frames(())

    def warmed_up(self, at_us: int) -> list[bytes]:
        """Return the messages of a request that is only to be remembered: it begins and is completed."""
        self.send_response(b"response.created")
        self.state = ResponseState("completed", (), at_us, Usage())
        self.send_response(b"response.completed")
        return self.frames(())
