"""kill -9 at random moments, on one server and on three: no input that was acknowledged is lost, no effect is doubled,
no turn is stuck, and each ends as if nothing had happened."""

from __future__ import annotations

import logging
import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.depth import LONG, deep
from tests.support.live.kill_rounds import Servers, run_rounds, world_served
from tests.support.live.process import ServerProcess, database

log = logging.getLogger(__name__)

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(deep(900, 20_000))]

ON_POSTGRESQL = bool(os.environ.get("TEST_DATABASE_URL"))


@pytest.mark.several
@pytest.mark.parametrize("count", ([1, 3] if LONG else [3]) if ON_POSTGRESQL else [1])
def test_nothing_is_lost_and_nothing_done_twice(tmp_path: Path, count: int) -> None:
    choose = random.Random(20261125 + count)
    with ExitStack() as stack:
        world, environment = stack.enter_context(world_served())
        where = stack.enter_context(database(empty=False))
        servers = []
        for number in range(count):
            folder = tmp_path / f"server-{number}"
            folder.mkdir()
            server = ServerProcess(folder, {**environment, **where})
            stack.callback(server.kill)
            servers.append(server.start())
        tally = run_rounds(Servers(servers, choose), world, deep(6, 350), clients=6, choose=choose)
        log.info("%s, %d processes: %s", "PostgreSQL" if ON_POSTGRESQL else "SQLite", count, tally)
        for server in servers:
            server.stop()
            assert " ERROR " not in server.log, server.log[-4000:]

    assert tally.lost == tally.stuck == tally.different == tally.doubled == []
    assert tally.ended > tally.kills
