"""Sends what is due: a task of each process that runs turns. It looks when an event is stored here, when the next
delivery is due, and every second, for what other processes have stored.

Endpoints do not wait for each other: of the attempts under way each has only a few.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from agents.base import ids, rounds
from agents.base.reading import read
from agents.base.store import failures
from agents.webhooks.runner.fan_out import fan_out
from agents.webhooks.runner.sending import attempt_delivery
from agents.webhooks.store import deliveries, events
from agents.webhooks.store.deliveries import Attempt, DueDelivery

log = logging.getLogger(__name__)

POLL_S = 1.0
"""How often a process looks for what others have stored."""
MIN_ROUND_S = 0.05
"""Between two looks: turns that end by the hundred are looked at together."""
MAX_SENDING, MAX_PER_ENDPOINT = 32, 4
"""Attempts under way in a process, in all and at one endpoint."""
STOP_S = 3.0
"""How long a stopping process waits for attempts under way. Others make those again that it does not."""


class Sender:
    """The sender of a process, whose name may change (``process``). `start` it on the loop of the server."""

    def __init__(self, process: Callable[[], str]) -> None:
        self._process = process
        self._sending: dict[asyncio.Task[None], int] = {}
        self._wakeup = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._unsubscribe = events.on_news(self._ring)
        self._task = self._loop.create_task(self._run())

    async def stop(self) -> None:
        self._unsubscribe()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._sending:
            _, late = await asyncio.wait(self._sending, timeout=STOP_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _ring(self) -> None:
        with suppress(RuntimeError):  # the loop may be over
            self._loop.call_soon_threadsafe(self._wakeup.set)

    async def _run(self) -> None:
        while True:
            self._wakeup.clear()
            try:
                pause_s = await self._send_and_look()
            except Exception as error:  # logged, and on the page of health: the next look tries again
                if failures.unavailable(error, "webhooks") is None:
                    log.exception("webhooks could not be sent")
                    rounds.failed("webhooks", error)
                pause_s = POLL_S
            await asyncio.sleep(MIN_ROUND_S)
            with suppress(TimeoutError):  # it is time to look
                await asyncio.wait_for(self._wakeup.wait(), pause_s)

    async def _send_and_look(self) -> float:
        """Send what is due, if anything is; returns for how long nothing more is, at most `POLL_S`. What is due and was
        left waits for room, of which an attempt that ends tells."""
        outlook = await read(events.look_out)
        if outlook.events_wait or (outlook.next_due is not None and outlook.next_due <= ids.now_us()):
            await self.send_due()
            outlook = await read(events.look_out)
        remaining_s = POLL_S if outlook.next_due is None else (outlook.next_due - ids.now_us()) / 1e6
        return min(remaining_s, POLL_S) if remaining_s > 0 else POLL_S

    async def send_due(self) -> None:
        """Make deliveries of new events, and begin to send what is due, as far as there is room."""
        while await read(fan_out) == events.MAX_READ:
            pass
        while claimed := await self._claim():
            for attempt in claimed:
                self._send(attempt)

    async def settle(self) -> None:
        """Wait until the attempts under way have ended."""
        while self._sending:
            await asyncio.gather(*self._sending, return_exceptions=True)

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

    def _send(self, attempt: Attempt) -> None:
        task = asyncio.create_task(self._attempt(attempt))
        self._sending[task] = attempt.endpoint
        task.add_done_callback(self._sent)

    async def _attempt(self, attempt: Attempt) -> None:
        try:
            await attempt_delivery(attempt)
        except Exception as error:  # logged, whatever it is: the delivery is due again when its lease is over
            if failures.unavailable(error, f"webhook={attempt.webhook_id}") is None:
                log.exception("webhook=%s could not be sent", attempt.webhook_id)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.pop(task)
        self._wakeup.set()  # there is room for another
