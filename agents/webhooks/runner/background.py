"""Work of a serving process: events are sent, also those that a process which is gone had begun with, and deleted
when they are old."""

from __future__ import annotations

from django.conf import settings

from agents.base import ids
from agents.base.reading import read
from agents.loop import background
from agents.webhooks.runner.sender import Sender
from agents.webhooks.store import deliveries, events


class WebhooksBackground(background.BackgroundWork):
    async def start(self) -> None:
        runner = self.service.runner
        self._sender = Sender(lambda: runner.owner) if runner.role.runs else None
        if self._sender is not None:
            self._sender.start()

    async def recover(self) -> None:
        released = await read(deliveries.release, ids.now_us()) if self._sender is not None else 0
        if released:
            events.news.tell()

    async def expire(self) -> int:
        return await read(deliveries.expire, ids.now_us(), settings.WEBHOOK_DAYS)

    async def stop(self) -> None:
        if self._sender is not None:
            await self._sender.stop()
