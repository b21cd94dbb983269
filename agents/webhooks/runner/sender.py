"""Sends what is due, in each process that runs turns.

Endpoints do not wait for each other: of the attempts under way each has only a few.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from agents.base import ids
from agents.base.due_work import DueWork
from agents.base.reading import read
from agents.webhooks.runner.fan_out import fan_out
from agents.webhooks.runner.sending import attempt_delivery
from agents.webhooks.store import deliveries, events
from agents.webhooks.store.deliveries import Attempt, DueDelivery

MAX_SENDING, MAX_PER_ENDPOINT = 32, 4
"""Attempts under way in a process, in all and at one endpoint."""


class Sender:
    """The sender of a process, whose name may change (``process``). `start` it on the loop of the server."""

    def __init__(self, process: Callable[[], str]) -> None:
        self._process = process
        self._sending: dict[asyncio.Task[None], int] = {}
        self._work = DueWork("webhooks", events.news, self._send_and_look)
        self.start, self.stop, self.settle = self._work.start, self._work.stop, self._work.settle

    async def _send_and_look(self) -> int | None:
        """Send what is due, if anything is; returns when the next delivery is."""
        outlook = await read(events.look_out)
        if outlook.events_wait or (outlook.next_due is not None and outlook.next_due <= ids.now_us()):
            await self.send_due()
            outlook = await read(events.look_out)
        return outlook.next_due

    async def send_due(self) -> None:
        """Make deliveries of new events, and begin to send what is due, as far as there is room."""
        while await read(fan_out) == events.MAX_READ:
            pass
        while claimed := await self._claim():
            for attempt in claimed:
                task = self._work.begin(f"webhook={attempt.webhook_id}", attempt_delivery(attempt))
                self._sending[task] = attempt.endpoint
                task.add_done_callback(self._sending.pop)

    async def _claim(self) -> list[Attempt]:
        at_endpoint = Counter(self._sending.values())
        full = [endpoint for endpoint, count in at_endpoint.items() if count >= MAX_PER_ENDPOINT]
        if len(self._sending) >= MAX_SENDING:
            return []
        wanted: list[DueDelivery] = []
        for delivery in await read(deliveries.due, ids.now_us(), full):
            if at_endpoint[delivery.endpoint] < MAX_PER_ENDPOINT and len(self._sending) + len(wanted) < MAX_SENDING:
                at_endpoint[delivery.endpoint] += 1
                wanted.append(delivery)
        return await read(deliveries.claim, wanted, self._process(), ids.now_us())
