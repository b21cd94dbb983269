"""Stops turns that another process runs: it is told to, and says that it was."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import msgspec

from agents.base.messaging.channel import MessageChannel, NoMessageChannel

STOP_TOPIC, TAKEN_TOPIC = "stop", "stop taken"
ANSWER_S = 2.0
"""How long the other process has for its answer before it is told again: a message may have been lost."""
TRIES = 3
MAX_REASON_CHARS = 1_000


class StopOrder(msgspec.Struct, array_like=True):
    """An order to stop a turn, as long as its lease has this epoch."""

    number: int
    turn: int
    epoch: int
    reason: str


_read_order = msgspec.json.Decoder(StopOrder).decode


class RemoteStops:
    """Gives orders to the other processes, and carries out theirs by ``stop(turn, epoch, reason)``, which is called
    on the loop. Without a channel no order reaches anybody."""

    def __init__(
        self, channel: MessageChannel | None = None, stop: Callable[[int, int, str], None] = lambda *_: None
    ) -> None:
        self._channel, self._stop = channel or NoMessageChannel(""), stop
        self._numbers = itertools.count()
        self._taken: dict[int, threading.Event] = {}
        self._channel.on(STOP_TOPIC, self._on_order)
        self._channel.on(TAKEN_TOPIC, self._on_taken)

    @property
    def is_working(self) -> bool:
        """Whether orders get through, as far as this process can tell."""
        return self._channel.is_working

    def order(self, process: str, turn: int, epoch: int, reason: str) -> bool:
        """Tell a process to stop a turn, and return whether it took the order: the run has stopped when its response
        is over. It blocks its thread, for `TRIES` times `ANSWER_S` where nobody answers."""
        number, taken = next(self._numbers), threading.Event()
        body = msgspec.json.encode(StopOrder(number, turn, epoch, reason[:MAX_REASON_CHARS])).decode()
        self._taken[number] = taken
        try:
            for _ in range(TRIES):
                if not self._channel.is_working:
                    return False
                self._channel.send(STOP_TOPIC, body, process)
                if taken.wait(ANSWER_S):
                    return True
            return False
        finally:
            del self._taken[number]

    def _on_order(self, process: str, body: str) -> None:
        order = _read_order(body)
        self._stop(order.turn, order.epoch, order.reason)
        self._channel.send(TAKEN_TOPIC, str(order.number), process)

    def _on_taken(self, process: str, body: str) -> None:
        taken = self._taken.get(int(body))
        if taken is not None:
            taken.set()
