"""The service of this process: the server sets it at its start, and views get it from here."""

from __future__ import annotations

from agents.base.errors import Unavailable
from agents.loop.service import Service

_service: Service | None = None


def use(service: Service | None) -> None:
    """Set the process's service, or none when it stops."""
    global _service
    _service = service


def service() -> Service:
    """Return the running service. Raises Unavailable where none runs (a command, a stopped server)."""
    if _service is None:
        raise Unavailable("No turns can run here: the server is not started.")
    return _service
