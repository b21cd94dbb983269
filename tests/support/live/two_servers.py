"""Two servers on one PostgreSQL, as behind a balancer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, database

MARKS = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.several,
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="two servers share a PostgreSQL"),
]


@contextmanager
def two_servers(
    folders: tuple[Path, Path], environment: Mapping[str, str] | None = None
) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two started servers with one database; what still runs when the block ends well is stopped, and must not have
    logged a mistake."""
    with ExitStack() as stack:
        where = {"SECRET_KEY": "of both" * 8, **stack.enter_context(database(empty=False)), **(environment or {})}
        servers = []
        for folder in folders:
            server = ServerProcess(folder, where)
            stack.callback(server.kill)
            servers.append(server.start())
        one, two = servers
        yield one, two
        for server in servers:
            if server.runs:
                server.stop()
                assert " ERROR " not in server.log, server.log[-4000:]


def through(caller: Caller, talk: Talk) -> Talk:
    """The same session, asked of another server."""
    other = talk.aside()
    other.caller, other.session, other.path = caller, talk.session, talk.path
    return other
