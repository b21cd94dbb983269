"""Two servers on one PostgreSQL that get the reports of the same agents: each turn is made once, and whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, database, eventually
from tests.telemetry.live.test_import_restarts import MANY, spans, states, upload
from tests.telemetry.live.test_import_restarts import TRACES as IMPORTED
from tests.telemetry.reading import reports

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.several,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="two servers share a PostgreSQL"),
]

TRACES = 60


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack:
        environment = {"SECRET_KEY": "of both" * 8, **stack.enter_context(database())}
        servers = [ServerProcess(tmp_path_factory.mktemp(name), environment) for name in ("one", "two")]
        for server in servers:
            stack.callback(server.kill)
            server.start()
        yield servers
        for server in servers:
            server.stop()
            assert " ERROR " not in server.log, server.log[-4000:]


def query(server: ServerProcess, sql: str) -> Any:
    with psycopg.connect(server.database_url, autocommit=True) as database:
        return database.execute(sql).fetchone()


def test_traces_split_over_both_are_put_together_once(servers: list[ServerProcess]) -> None:
    """Each span goes to the other server than the one before, many at once, and all are of a few conversations."""
    spans = [
        (number + index, one)
        for number in range(1, TRACES + 1)
        for index, one in enumerate(
            reports.turn(number, at=number * 5.0, gen_ai__conversation__id=f"split-{number % 3}")
        )
    ]

    def send(sent: tuple[int, Any]) -> int:
        to, span = sent
        return Caller(servers[to % 2].port).post("/v1/traces", reports.request(span)).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, spans)) == {200}
    eventually(lambda: not query(servers[0], "SELECT count(*) FROM agents_trace WHERE arrived > projected")[0])
    ours = "(SELECT id, turn_count FROM agents_session WHERE name LIKE 'split-%') AS ours"
    of_turns = (
        f"SELECT count(*), min(step_count), max(step_count) FROM agents_turn t JOIN {ours} ON ours.id = t.session_id"
    )
    assert query(servers[0], of_turns) == (TRACES, 3, 3)
    sums = query(servers[0], f"SELECT count(*), sum(turn_count) FROM {ours}")
    assert sums == (3, TRACES)
    assert query(servers[0], "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == (0,)


def test_imports_of_a_process_that_died_are_done_by_the_other(servers: list[ServerProcess]) -> None:
    one, other = servers
    imports = [upload(one, spans(1_000 + number)) for number in range(MANY)]
    one.kill()
    caller = Caller(other.port)
    try:
        eventually(lambda: set(states(caller, imports)) == {"completed"}, 240)
    finally:
        one.start()  # the test after this one needs it
    reported = [caller.get(f"/v1/imports/{each}").json["report"]["turns"] for each in imports]
    assert [sum(turns.values()) for turns in reported] == [IMPORTED] * MANY
    assert query(other, "SELECT count(*) FROM agents_importblock") == (0,)
