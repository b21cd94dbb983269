"""Background work of subjects in a serving process."""

from __future__ import annotations

from collections.abc import Callable

from agents.loop.service import Service


class BackgroundWork:
    """The background work of one subject, from the start of a process to its end, on the event loop. Subclasses
    override the methods they need."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def start(self) -> None:
        """Called once, after the service has started and before the first request. Raises ImproperlyConfigured."""

    async def renew(self) -> None:
        """Called every few seconds: renew leases, so that other processes know that the work continues."""

    async def recover(self) -> None:
        """Called every few seconds while the store is available: continue the work of processes that have stopped."""

    async def expire(self) -> int:
        """Called every minute, in the process that leads: delete expired rows; returns their number."""
        return 0

    async def stop(self) -> None:
        """Called once, after the last request and before the writer stops."""


backgrounds: dict[str, Callable[[Service], BackgroundWork]] = {}
"""Factories by subject, set when it is installed."""
