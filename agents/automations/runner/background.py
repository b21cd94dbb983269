"""Work of a serving process: runs begin when they are due, also those that a process which is gone had begun with, and
are deleted when they are old."""

from __future__ import annotations

from django.conf import settings

from agents.automations.runner.scheduler import Scheduler
from agents.automations.store import runs
from agents.base import ids
from agents.base.reading import read
from agents.loop import background


class AutomationsBackground(background.BackgroundWork):
    async def start(self) -> None:
        runner = self.service.runner
        self._scheduler = Scheduler(lambda: runner.owner) if runner.role.runs else None
        if self._scheduler is not None:
            self._scheduler.start()

    async def recover(self) -> None:
        released = await read(runs.release, ids.now_us()) if self._scheduler is not None else 0
        if released:
            runs.news.tell()

    async def expire(self) -> int:
        return await read(runs.expire, ids.now_us(), settings.AUTOMATION_DAYS)

    async def stop(self) -> None:
        if self._scheduler is not None:
            await self._scheduler.stop()
