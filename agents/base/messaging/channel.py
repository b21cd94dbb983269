"""What a channel of messages promises, and the channel of a process that is alone."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable

log = logging.getLogger(__name__)

Handler = Callable[[str, str], None]
"""Takes a message: the name of the process that sent it, and the body."""

EVERYONE = ""
"""The receiver of a message that is for all processes."""
MAX_BODY_BYTES = 7_800
"""Bytes of a body in UTF-8: a message of PostgreSQL has at most 8,000, the names of sender and topic included."""
MAX_NAME_CHARS = 32
"""Characters of a process's or a topic's name."""


class MessageChannel(ABC):
    """Sends messages to the other serving processes of the same database, and hands theirs to the handlers of their
    topics, on the event loop. Messages of one sender arrive in order. Any of them may be lost, and none is kept for
    a process that is not there."""

    def __init__(self, process: str) -> None:
        """``process`` is this process's name: nobody else's, at most 32 characters, none of them a line break."""
        self.process = ""
        self.rename(process)
        self._handlers: dict[str, list[Handler]] = {}

    def rename(self, process: str) -> None:
        """Give this process another name: what is sent to the former one no longer arrives."""
        if len(process) > MAX_NAME_CHARS or "\n" in process:
            raise ValueError("a process's name has at most 32 characters, all on one line")
        self.process = process

    def on(self, topic: str, handler: Handler) -> Callable[[], None]:
        """Call ``handler`` for each message of a topic that others send; returns the function that ends it."""
        self._handlers.setdefault(topic, []).append(handler)
        return lambda: self._handlers[topic].remove(handler)

    def _hand_over(self, sender: str, topic: str, body: str) -> None:
        for handler in list(self._handlers.get(topic, ())):
            try:
                handler(sender, body)
            except Exception:  # logged: a message that one subject cannot take must not keep the others from theirs
                log.exception("topic=%s: a message of %s could not be taken", topic, sender)

    @property
    @abstractmethod
    def is_working(self) -> bool:
        """Whether messages get through, as far as this process can tell."""

    @property
    @abstractmethod
    def has_failed(self) -> bool:
        """Whether messages are known not to get through, though they should: False before anything is known, too."""

    @abstractmethod
    def send(self, topic: str, body: str, to: str = EVERYONE) -> None:
        """Send a message to one process, or to all others. Thread-safe, returns at once and raises nothing when the
        channel is down; ValueError when the body has more than `MAX_BODY_BYTES`."""

    @abstractmethod
    async def start(self) -> None:
        """Begin to send and receive; it does not wait until messages get through."""

    @abstractmethod
    async def stop(self) -> None:
        """End; what waits to be sent is lost."""


class NoMessageChannel(MessageChannel):
    """The channel of a process that has no others beside it, or no way to them: nothing is sent."""

    @property
    def is_working(self) -> bool:
        return False

    @property
    def has_failed(self) -> bool:
        return False

    def send(self, topic: str, body: str, to: str = EVERYONE) -> None:
        return

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return
