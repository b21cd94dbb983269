"""Work of a serving process: batches are run, also those that a process which is gone had begun with."""

from __future__ import annotations

from agents.batches.runner.worker import BatchWorker
from agents.loop import background


class BatchesBackground(background.BackgroundWork):
    async def start(self) -> None:
        runner = self.service.runner
        self._worker = BatchWorker(runner) if runner.role.runs else None
        if self._worker is not None:
            self._worker.start()

    async def stop(self) -> None:
        if self._worker is not None:
            await self._worker.stop()
