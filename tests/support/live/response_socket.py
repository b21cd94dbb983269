"""A client of OpenAI's Responses API over a WebSocket that speaks the protocol by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.support.live.openai_api import MODEL
from tests.support.live.process import ServerProcess


class Socket:
    """A connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": "response.create", "model": MODEL, **fields}))

    def next(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.connection.recv(timeout=20))
        return message

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The messages up to the next of this type."""
        messages = [self.next()]
        while messages[-1]["type"] != kind:
            messages.append(self.next())
        return messages

    def steer(self, response: str, said: Any) -> dict[str, Any]:
        """Say something to a response; what becomes of that first."""
        self.connection.send(json.dumps({"type": "response.steer", "previous_response_id": response, "input": said}))
        while not (message := self.next())["type"].startswith("response.steer."):
            pass
        return message

    def response(self, **fields: Any) -> dict[str, Any]:
        """Send a request, and return its response once it is over."""
        self.send(**fields)
        while True:
            message = self.next()
            assert message["type"] != "error", message
            if message["type"].split(".")[-1] in ("completed", "failed", "incomplete") and "response" in message:
                response: dict[str, Any] = message["response"]
                return response

    def error(self, **fields: Any) -> dict[str, Any]:
        """Send a request, and return the error that it is answered with."""
        self.send(**fields)
        message = self.next()
        assert message["type"] == "error", message
        return message


@contextmanager
def opened(server: ServerProcess, path: str = "/v1/responses", **headers: str) -> Iterator[Socket]:
    with connect(server.base.replace("http", "ws", 1) + path, additional_headers=headers) as connection:
        yield Socket(connection)


def text(response: dict[str, Any]) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])
