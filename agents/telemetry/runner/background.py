"""Work of a serving process: what came in becomes turns, files are imported, a collector hears of turns that end."""

from __future__ import annotations

import asyncio

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agents.base import ids, tracing
from agents.base.reading import read
from agents.base.store.leader import leader
from agents.loop import background
from agents.telemetry.runner import import_queue
from agents.telemetry.runner.otlp_export import OtlpExporter, headers_of
from agents.telemetry.store import import_files
from agents.telemetry.store.external import timeouts, unmatched
from agents.telemetry.store.external.projector import projector

DAY_US = 86_400_000_000


class TelemetryBackground(background.BackgroundWork):
    async def start(self) -> None:
        role = self.service.runner.role
        projector.leave_to_others(not role.ingests)
        if role.ingests:
            projector.start()
        self._exporter = exporter() if role.runs or (role.ingests and settings.OTLP_EXPORT_REPORTED) else None
        tracing.export_turns(self._exporter is not None)
        if self._exporter is not None:
            self._exporter.start()
        if role.ingests:
            await self._go_on_with_imports()

    async def recover(self) -> None:
        if leader.leads:
            await read(timeouts.end_quiet_turns, ids.now_us())
        if self.service.runner.role.ingests and not self.service.runner.draining:
            await self._go_on_with_imports()

    async def _go_on_with_imports(self) -> None:
        await read(import_queue.resume, self.service.runner)
        await read(import_files.delete_unneeded, ids.now_us())

    async def expire(self) -> int:
        await read(timeouts.end_unanswered_turns, ids.now_us())
        return await read(unmatched.expire, ids.now_us() - settings.UNMATCHED_DAYS * DAY_US)

    async def stop(self) -> None:
        if self._exporter is not None:
            await self._exporter.stop()
        await asyncio.get_running_loop().run_in_executor(None, projector.stop)


def exporter() -> OtlpExporter | None:
    """Whoever tells a collector of the turns that end here, or are reported. Raises ImproperlyConfigured."""
    if not settings.OTLP_EXPORT_ENDPOINT:
        return None
    try:
        headers = headers_of(settings.OTLP_EXPORT_HEADERS or "")
    except ValueError as error:
        raise ImproperlyConfigured(f"OTLP_EXPORT_HEADERS: {error}") from error
    try:
        return OtlpExporter(settings.OTLP_EXPORT_ENDPOINT, headers, reported=settings.OTLP_EXPORT_REPORTED)
    except ValueError as error:
        raise ImproperlyConfigured(f"OTLP_EXPORT_ENDPOINT: {error}") from error
