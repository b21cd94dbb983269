"""What a case finds when it begins: the server under test, the endpoint, and sizes to work with."""

from __future__ import annotations

from dataclasses import dataclass

from bench.client import Api
from bench.faults import Skipped
from bench.processes import Meter
from bench.server import Launcher


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The model endpoint's process."""

    base: str
    pid: int


@dataclass(frozen=True, slots=True)
class Stage:
    """``server_pid`` is None for a server whose process is not known; ``launcher`` is None when
    another server is measured."""

    api: Api
    endpoint: Endpoint
    server_pid: int | None
    launcher: Launcher | None
    quick: bool = False
    minutes: float = 60.0
    """How long a case without an end of its own goes on."""
    core: int | None = None
    """Where servers are kept, if they are."""

    def meter(self) -> Meter:
        """Measures the server, and the endpoint beside it."""
        return Meter(self.server_pid, self.endpoint.pid)

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def own(self) -> Launcher:
        """Starts servers. Raises Skipped when another's server is measured."""
        if self.launcher is None:
            raise Skipped("it needs to start the server itself")
        return self.launcher
