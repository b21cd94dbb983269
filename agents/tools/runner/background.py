"""Work of a serving process: servers of tools that have not answered yet are asked again, and the process of the
functions ends with it."""

from __future__ import annotations

import asyncio
import logging

from agents.loop import background
from agents.tools.providers import python_copy
from agents.tools.providers.function_worker import FunctionWorker
from agents.tools.providers.mcp import McpClient
from agents.tools.runner import toolgroups

log = logging.getLogger(__name__)

REFRESH_INTERVAL_S = 30.0
"""How often MCP servers of the settings that have not answered yet are asked."""


class ToolsBackground(background.BackgroundWork):
    async def start(self) -> None:
        self._tasks = [asyncio.create_task(asyncio.to_thread(python_copy.remove_leftovers))]
        if self.service.providers.part(McpClient).configured:
            self._tasks.append(asyncio.create_task(self._refresh_listings()))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        worker = self.service.providers.parts.get(FunctionWorker)
        if worker is not None:
            await worker.close()

    async def _refresh_listings(self) -> None:
        while True:
            try:
                await toolgroups.refresh_configured(self.service.providers)
            except Exception:
                # a round that fails is tried again at its next turn; the server goes on
                log.exception("a round of the server failed")
            await asyncio.sleep(REFRESH_INTERVAL_S)
