"""Watches a turn over WebSockets (``/ws/live``), and finds out afterwards whether a watcher saw
everything: every event once and in order, every character of the text.

While watching a frame is only kept with its time: five hundred watchers that decode would be what
is measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bench.faults import Broken, Missing

JSON = Any
Arrived = tuple[float, str]
"""(monotonic seconds, frame)"""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the text, when it came and at which character it stands."""

    arrived: float
    offset: int
    text: str


@dataclass(slots=True)
class Seen:
    """What a watcher saw: the numbers of the events, the pieces of the text, what went wrong."""

    numbers: list[int] = field(default_factory=list)
    deltas: list[Delta] = field(default_factory=list)
    characters: int = 0
    last: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas)

    def take(self, arrived: float, event: JSON) -> None:
        if event["type"] != "delta":
            self.numbers.append(event["seq"])
            self.last = event["type"]
        elif event["channel"] == "text":
            if event["offset"] != self.characters:
                self.faults.append(f"a delta at character {event['offset']} after {self.characters} characters")
            self.deltas.append(Delta(arrived, event["offset"], event["text"]))
            self.characters += len(event["text"])


def seen(frames: Sequence[Arrived]) -> Seen:
    """Decode what arrived. The turn must have one inference: offsets count within a step."""
    found = Seen()
    for arrived, raw in frames:
        frame = json.loads(raw)
        if frame["op"] in {"gap", "error"}:
            found.faults.append(raw[:200])
        for event in frame.get("events", ()):
            found.take(arrived, event)
    return found


def faults(found: Seen, text: str) -> Iterator[str]:
    """What a watcher of an ended turn with this text missed or saw twice; nothing when all is well."""
    yield from found.faults
    if found.numbers != list(range(len(found.numbers))):
        yield f"the events came as {found.numbers}"
    if found.last != "turn.ended":
        yield f"the last event was {found.last or 'none'}"
    if found.text != text:
        yield f"{len(found.text)} characters, {len(text)} are stored"


class Watcher:
    """One socket on one turn, and what arrived on it."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self._http = http
        self.frames: list[Arrived] = []
        self.move(base)

    def move(self, base: str) -> None:
        """Connect to this server from now on."""
        self._url = f"{base.replace('http', 'ws', 1)}/ws/live"

    async def open(self) -> None:
        """Connect. Raises Missing where no such socket is offered."""
        try:
            self._socket = await self._http.ws_connect(self._url, max_msg_size=0, heartbeat=None)
        except aiohttp.WSServerHandshakeError as error:
            raise Missing(f"GET /ws/live: {error.status} {error.message}") from error

    async def watch(self, topic: str, *, frames: int | None = None) -> None:
        """Subscribe behind what was seen so far and keep what comes: to the end of the turn, or
        so many frames. Raises Broken when the server hangs up."""
        after = next((found for found in map(_cursor, reversed(self.frames)) if found), None)
        wanted = {"op": "subscribe", "id": 1, "topic": topic, "after": after, "as": "json"}
        await self._socket.send_str(json.dumps(wanted))
        count = 0
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            self.frames.append((time.monotonic(), message.data))
            count += 1
            if _ends(message.data) or count == frames:
                return
        raise Broken(f"the socket was closed ({self._socket.close_code}) after {len(self.frames)} frames")

    async def close(self) -> None:
        await self._socket.close()


def _cursor(arrived: Arrived) -> str | None:
    found = json.loads(arrived[1]).get("cursor")
    return str(found) if found else None


def _ends(raw: str) -> bool:
    """Whether a frame is the last of a subscription; by its head, as few are."""
    return raw.startswith('{"id":1,"op":"end"') or raw.startswith('{"id":1,"op":"error"')
