"""A reader of ``/ws/live``: what it asks, what it hears, and what it has heard of each text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.live.process import ServerProcess

HEAR_S = 15.0
Message = dict[str, Any]
AS_HTML: dict[str, Any] = {"as": "html"}
"""Asks for HTML, as pages do."""


class Socket:
    """One open socket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def send(self, text: str | bytes) -> None:
        self.connection.send(text)

    def ask(self, op: str, number: int = 1, **more: Any) -> None:
        self.send(json.dumps({"op": op, "id": number, **more}))

    def subscribe(self, topic: str, number: int = 1, **more: Any) -> None:
        self.ask("subscribe", number, topic=topic, **more)

    def hear(self) -> Message:
        """The next message. Raises TimeoutError."""
        return json.loads(self.connection.recv(HEAR_S))  # type: ignore[no-any-return]  # an object

    def until(self, last: Callable[[Message], bool]) -> list[Message]:
        """The messages up to the first for which ``last`` holds."""
        out = [self.hear()]
        while not last(out[-1]):
            out.append(self.hear())
        return out

    def to_op(self, op: str, number: int = 1) -> list[Message]:
        """A subscription's messages up to this ``op`` of it."""
        messages = self.until(lambda message: message["id"] == number and message["op"] == op)
        return [message for message in messages if message["id"] == number]

    def refusal(self, number: int = 1) -> Message:
        """The error a message is answered with."""
        [message] = self.to_op("error", number)
        return message["error"]  # type: ignore[no-any-return]  # an object

    def flood(self, op: str, times: int) -> None:
        """Ask this many times, or until the server has closed the socket."""
        try:
            for _ in range(times):
                self.ask(op)
        except ConnectionClosed:
            return

    def closed(self) -> int:
        """The code with which the server closes the socket, 1006 when it only leaves; what it says
        before is dropped."""
        return self.ended()[0]

    def ended(self) -> tuple[int, str]:
        """The same with the reason it gives."""
        try:
            while True:
                self.hear()
        except ConnectionClosed as closed:
            return (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")


@contextmanager
def opened(server: ServerProcess, headers: dict[str, str] | None = None) -> Iterator[Socket]:
    """A socket of a program: no cookie, no Origin, unless among ``headers``. Raises InvalidStatus."""
    with connect(server.socket_url, additional_headers=headers, proxy=None, max_size=None) as connection:
        yield Socket(connection)


def events(messages: list[Message]) -> list[Message]:
    """All events of these messages, in order."""
    return [event for message in messages for event in message.get("events", ())]


def merged(heard: list[Message]) -> list[Message]:
    """Events with neighbouring deltas of one text as one, each proved to begin where the last ended."""
    out: list[Message] = []
    for event in heard:
        last = out[-1] if out else {}
        same = ("type", "step", "channel", "index")
        if event["type"] == "delta" and all(event[name] == last.get(name) for name in same):
            assert event["offset"] == last["offset"] + len(last["text"])
            out[-1] = {**last, "text": last["text"] + event["text"]}
        else:
            out.append(event)
    return out


def text_of(heard: list[Message], channel: str = "text") -> str:
    """What was typed in a channel, over all steps."""
    return "".join(event["text"] for event in heard if event["type"] == "delta" and event["channel"] == channel)


def numbers(heard: list[Message]) -> list[int]:
    """The numbers of the events that have one."""
    return [event["seq"] for event in heard if event["type"] != "delta"]


# --------------------------------------------------------------------------------------------- lists


def rows(messages: list[Message]) -> dict[str, str]:
    """The last word on each turn: its status, or ``gone``."""
    return {event["id"]: event["row"]["status"] if event["type"] == "row" else "gone" for event in events(messages)}


def follow_list(socket: Socket, topic: str, number: int = 1, **more: Any) -> None:
    """Subscribe to a list and wait until it is live."""
    socket.subscribe(topic, number, **more)
    assert socket.to_op("live", number)[0]["op"] == "replay"


def until_settled(socket: Socket, turn: str, status: str) -> dict[str, str]:
    """What a list says until it says this of a turn."""
    seen: dict[str, str] = {}
    while seen.get(turn) != status:
        seen |= rows([socket.hear()])
    return seen
