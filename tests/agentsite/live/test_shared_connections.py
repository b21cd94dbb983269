"""Connections to PostgreSQL that requests share: who finds none is told so, and nothing else waits for them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from tests.support import metrics
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    # the PostgreSQL phase of `make check` runs it
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="SQLite has no server to connect to"),
]


@contextmanager
def locked(server: ServerProcess, table: str) -> Iterator[None]:
    """Whoever reads from this table waits."""
    with psycopg.connect(server.database_url) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode())
        yield
        other.rollback()


def usage(server: ServerProcess) -> dict[str, float]:
    told = metrics.read(Caller(server.port, {"Authorization": "Bearer of metrics"}).get("/metrics").body.decode())
    kinds = ("open", "in_use", "most", "waiting")
    return {kind: told.value("turnlog_database_connections", kind=kind) for kind in kinds}


@pytest.fixture
def server(start_server: Callable[..., ServerProcess]) -> ServerProcess:
    return start_server(MAX_CONNECTIONS="2", METRICS_TOKEN="of metrics", LEASE_SECONDS="4")


def test_who_finds_no_connection_is_told_and_what_runs_does_not_wait(server: ServerProcess, held: HeldModel) -> None:
    caller, question = Caller(server.port), held.hold()
    talk = Talk(caller, model="held/held")
    assert usage(server)["most"] == 2
    with talk.saying(question.question) as stream, ThreadPoolExecutor(8) as pool:
        question.say("Half ")
        stream.until(lambda frame: bool(frame.text))
        with locked(server, "agents_agent"):
            began = time.monotonic()
            holding = [pool.submit(caller.get, "/v1/agents") for _ in range(2)]
            eventually(lambda: usage(server)["in_use"] == 2)
            others = [
                pool.submit(caller.get, path) for path in ("/v1/models", "/v1/agents", "/logs/", "/v1/toolgroups")
            ]
            eventually(lambda: usage(server)["waiting"] >= 3)
            assert caller.get("/healthz").status == 200
            answers = [other.result() for other in others]
            refused = [answer for answer in answers if answer.status == 503]
            assert len(refused) >= 3, [answer.status for answer in answers]
            assert all(int(answer.headers["retry-after"]) for answer in refused)
            assert any(b"no connection free" in answer.body for answer in refused)
            assert 4 < time.monotonic() - began < 20
            question.end("and whole.")
            told = list(stream)[-1].payload["turn"]
        assert {answer.result().status for answer in holding} == {200}
    assert told["output_message"]["content"] == "Half and whole."
    assert caller.get("/v1/agents").status == 200
    eventually(lambda: (usage(server)["in_use"], usage(server)["waiting"]) == (0, 0))
    assert "others took this process for gone" not in server.log


def test_connections_that_died_between_requests_cost_none(server: ServerProcess) -> None:
    caller = Caller(server.port)
    with ThreadPoolExecutor(2) as pool, locked(server, "agents_agent"):
        asked = [pool.submit(caller.get, "/v1/agents") for _ in range(2)]
        eventually(lambda: usage(server)["in_use"] == 2)
    assert {answer.result().status for answer in asked} == {200}
    for _ in range(3):
        with psycopg.connect(server.database_url, autocommit=True) as control:
            control.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with ThreadPoolExecutor(4) as pool:
            assert {answer.status for answer in pool.map(caller.get, ["/v1/agents"] * 8)} == {200}
