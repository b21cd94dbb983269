"""Turns that are typed slowly, and read meanwhile; and what must hold of them once they are over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from tests.support.live.caller import Caller, CutOff, Frame, Stream, Talk
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import events, numbers, opened

BETWEEN_TOKENS_S = 0.1


@dataclass
class Typist(threading.Thread):
    """Types an answer of numbered words, slowly, until it is to stop."""

    held: Held
    typed: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        while not self.stopped.wait(BETWEEN_TOKENS_S):
            self.typed.append(f"{len(self.typed)} ")
            self.held.say(self.typed[-1])

    def finish(self) -> str:
        """End the answer; returns it."""
        self.stopped.set()
        self.join()
        self.held.end()
        return "".join(self.typed)


class Reading(threading.Thread):
    """Reads a stream to its end."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.frames: list[Frame] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self.frames.extend(iter(self._stream))
        except (OSError, HTTPException, CutOff) as error:  # told by `all`, to the test that waits for it
            self.error = error

    @property
    def text(self) -> str:
        return "".join(frame.text for frame in self.frames)

    def all(self) -> list[Frame]:
        self.join(60)
        assert self.error is None
        assert not self.is_alive()
        return self.frames


@contextmanager
def typed(caller: Caller, held: HeldModel) -> Iterator[tuple[Talk, Typist, Reading]]:
    """A turn that is being typed and read, for as long as the block lasts."""
    typist = Typist(held.hold())
    talk = Talk(caller, model="held/held")
    with talk.saying(typist.held.question) as stream:
        reading = Reading(stream)
        reading.start()
        typist.start()
        eventually(lambda: "3 " in reading.text)
        yield talk, typist, reading


def entries(server: ServerProcess, turn: str) -> list[dict[str, Any]]:
    """All events and deltas of a turn."""
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}")
        return events(socket.to_op("end"))


def assert_whole(server: ServerProcess, talk: Talk, frames: list[Frame], answer: str) -> None:
    """What was streamed is the answer, and what is stored is what was streamed."""
    assert "".join(frame.text for frame in frames) == answer
    told = frames[-1].payload["turn"]
    assert told["output_message"]["content"] == answer
    [stored] = talk.turns()
    assert stored["turn_id"] == told["turn_id"]
    assert stored["output_message"] == told["output_message"]
    assert [step["step_id"] for step in stored["steps"]] == [step["step_id"] for step in told["steps"]]
    again = talk.frames(stored["turn_id"])
    assert [frame.data for frame in again if not frame.text] == [frame.data for frame in frames if not frame.text]
    assert "".join(frame.text for frame in again) == answer
    logged = entries(server, stored["turn_id"])
    assert numbers(logged) == list(range(len(numbers(logged))))
    assert not [entry for entry in logged if entry.get("type") == "turn.taken_over"]


def ends(frames: list[Frame]) -> list[Any]:
    """What a stream says of what is over."""
    return [frame.data for frame in frames if frame.type in ("step_complete", "turn_complete")]
