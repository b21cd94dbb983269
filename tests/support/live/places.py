"""Servers on one PostgreSQL, each behind a network of its own that a test can cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.live.held_model import HeldModel
from tests.support.live.network import Network, between
from tests.support.live.process import ServerProcess, database


@dataclass
class Place:
    """A server, and the network between it and its database."""

    server: ServerProcess
    network: Network


@contextmanager
def placed(folder: Path, held: HeldModel, count: int, url: str = "", **environment: str) -> Iterator[list[Place]]:
    """Servers on one database, each behind a network of its own. They end well, and have logged no mistake."""
    with ExitStack() as stack:
        url = url or stack.enter_context(database(empty=False))["DATABASE_URL"]
        places = []
        for number in range(count):
            network, through = stack.enter_context(between(url))
            own = folder / f"behind-{number}"
            own.mkdir()
            given = {"SECRET_KEY": "of all" * 8, **held.environment, "DATABASE_URL": through, **environment}
            server = ServerProcess(own, given)
            stack.callback(server.kill)
            places.append(Place(server.start(), network))
        yield places
        for place in places:
            place.server.stop()
            assert " ERROR " not in place.server.log, place.server.log[-4000:]
            assert "Traceback" not in place.server.log, place.server.log[-4000:]
