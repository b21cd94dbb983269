"""Messages between several processes that are played by one: each channel is a process's own."""

from __future__ import annotations

import asyncio

from agents.base.messaging.channel import EVERYONE, MAX_BODY_BYTES, MessageChannel


class ExchangeChannel(MessageChannel):
    """Hands messages over on its loop. ``sent`` are those that it sent, as (topic, body, receiver); while
    ``is_cut`` they are sent and never arrive."""

    def __init__(self, exchange: Exchange, process: str) -> None:
        super().__init__(process)
        self._exchange, self._loop = exchange, asyncio.get_running_loop()
        self.sent: list[tuple[str, str, str]] = []
        self.is_cut = False

    @property
    def is_working(self) -> bool:
        return not self.is_cut

    @property
    def has_failed(self) -> bool:
        return self.is_cut

    def send(self, topic: str, body: str, to: str = EVERYONE) -> None:
        if len(body.encode()) > MAX_BODY_BYTES:
            raise ValueError("too long")
        self.sent.append((topic, body, to))
        if not self.is_cut:
            self._exchange.deliver(self.process, topic, body, to)

    def take(self, sender: str, topic: str, body: str) -> None:
        """Get a message of another process."""
        self._loop.call_soon_threadsafe(self._hand_over, sender, topic, body)

    async def start(self) -> None:
        return

    async def stop(self) -> None:
        return


class Exchange:
    """The way between the channels that it made."""

    def __init__(self) -> None:
        self._channels: dict[str, ExchangeChannel] = {}

    def channel(self, process: str) -> ExchangeChannel:
        """A channel, on the running loop, of the process of this name."""
        made = self._channels[process] = ExchangeChannel(self, process)
        return made

    def deliver(self, sender: str, topic: str, body: str, to: str) -> None:
        for process, channel in self._channels.items():
            if process != sender and to in (EVERYONE, process) and not channel.is_cut:
                channel.take(sender, topic, body)
