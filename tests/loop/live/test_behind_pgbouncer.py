"""Two servers behind a PgBouncer in transaction mode: no messages get through and no lock of a session holds, and all
that is seen of it is that things take a little longer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.live import two_servers
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.support.live.pgbouncer import CONNECTIONS, pooled
from tests.support.live.process import ServerProcess, database, eventually, running
from tests.support.live.two_servers import through

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

Servers = tuple[ServerProcess, ServerProcess]
LEASE_S = 3


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with database(empty=False) as where, pooled(where["DATABASE_URL"]) as behind:
        yield behind


@pytest.fixture(scope="module")
def servers(url: str, tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[Servers]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    environment = {**held.environment, "DATABASE_URL": url, "LEASE_SECONDS": str(LEASE_S)}
    with two_servers.two_servers(folders, environment) as both:
        yield both


@pytest.fixture
def callers(servers: Servers) -> tuple[Caller, Caller]:
    one, two = servers
    return Caller(one.port), Caller(two.port)


def health(caller: Caller) -> dict[str, Any]:
    [found] = [check for check in caller.get("/v1/health/details").json["checks"] if check["name"] == "messages"]
    return dict(found)


def says_so(caller: Caller) -> bool:
    told = health(caller)
    return (told["status"], told["problem"], told["facts"]["processes"]) == ("warn", "lost", 2)


def test_it_is_said_that_messages_do_not_get_through(callers: tuple[Caller, Caller]) -> None:
    for caller in callers:
        eventually(partial(says_so, caller))
        assert "messages_lost 1" in caller.get("/metrics").body.decode()


def test_a_turn_is_read_and_cancelled_on_the_other_server(callers: tuple[Caller, Caller], held: HeldModel) -> None:
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("One ")
        turn = stream.until(lambda frame: frame.text == "One ")[0].payload["turn_id"]
        elsewhere = through(callers[1], talk)
        with elsewhere.following(turn) as there:
            assert there.until(lambda frame: bool(frame.text))[-1].text == "One "
            question.say("two ")
            assert there.until(lambda frame: bool(frame.text))[-1].text == "two "
            stopped = elsewhere.cancel(turn)
            assert (stopped.status, stopped.json["status"]) == (200, "cancelled")
            list(there)
        list(stream)


def test_a_turn_goes_on_when_its_process_dies(
    servers: Servers, callers: tuple[Caller, Caller], held: HeldModel
) -> None:
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    turn, there = talk.begin(question.question), through(callers[1], talk)
    eventually(lambda: question.asked)
    servers[0].kill()
    question.end()
    eventually(lambda: len(question.asked) == 2, LEASE_S + 10)
    question.end("Done.")
    over = eventually(lambda: (told := there.turn(turn))["status"] == "completed" and told)
    assert over["output_message"]["content"] == "Done."
    servers[0].start(servers[0].port)


def test_no_setting_of_one_client_is_left_to_another(url: str, callers: tuple[Caller, Caller]) -> None:
    """What was set of a session stays with PgBouncer's connection: commits of others could be lost in a power cut."""
    for number in range(10):
        assert Talk(callers[number % 2]).say(script("say Here.")).json["status"] == "completed"
    assert_no_setting_is_left(url)


def assert_no_setting_is_left(url: str) -> None:
    connections = [psycopg.connect(url) for _ in range(CONNECTIONS // 2)]  # each in a transaction, on its own
    try:
        for connection in connections:
            for name, expected in (("synchronous_commit", "on"), ("lock_timeout", "0"), ("statement_timeout", "0")):
                assert connection.execute(f"SHOW {name}".encode()).fetchone() == (expected,), name
    finally:
        for connection in connections:
            connection.close()


def test_the_tables_are_made_through_it(tmp_path: Path) -> None:
    with (
        database() as where,
        pooled(where["DATABASE_URL"]) as behind,
        running(tmp_path, {"DATABASE_URL": behind}, own_database=False) as server,
    ):
        assert Talk(Caller(server.port)).say(script("say Here.")).json["status"] == "completed"
        assert_no_setting_is_left(behind)
