"""What subjects do in a serving process beside answering requests."""

from __future__ import annotations

from collections.abc import Callable

from agents.loop.service import Service


class Background:
    """The work of one subject from the start of a process to its end; all on the loop. One that does less leaves the
    rest out."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def start(self) -> None:
        """Called once, when the service can be asked and before the first request. Raises ImproperlyConfigured."""

    async def renew(self) -> None:
        """Called every few seconds: tell other processes that work goes on."""

    async def recover(self) -> None:
        """Called every few seconds while the store is well: go on with what other processes left behind."""

    async def expire(self) -> int:
        """Called every minute: delete what is due. Returns how many rows went."""
        return 0

    async def stop(self) -> None:
        """Called once, after the last request and before the writer stops."""


backgrounds: dict[str, Callable[[Service], Background]] = {}
"""By subject, set when it is installed."""
