"""Two servers on one PostgreSQL: a turn that one runs is cancelled on the other."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.support.live import two_servers
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.two_servers import through

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

Servers = tuple[ServerProcess, ServerProcess]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[Servers]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders, held.environment) as both:
        yield both


@pytest.fixture
def callers(servers: Servers) -> tuple[Caller, Caller]:
    one, two = servers
    return Caller(one.port), Caller(two.port)


def test_a_turn_is_cancelled_on_the_other_server(callers: tuple[Caller, Caller], held: HeldModel) -> None:
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("One ")
        turn = stream.until(lambda frame: frame.text == "One ")[0].payload["turn_id"]
        stopped = through(callers[1], talk).cancel(turn)
        assert stopped.status == 200, stopped.body
        assert stopped.json["status"] == "cancelled"
        assert stopped.json == talk.turn(turn)
        list(stream)  # its own caller is told as well
    assert through(callers[1], talk).cancel(turn).json == stopped.json


def test_a_response_is_cancelled_on_the_other_server(callers: tuple[Caller, Caller], held: HeldModel) -> None:
    question = held.hold()
    body = {"model": "held/held", "input": question.question, "background": True}
    response = callers[0].post("/v1/responses", body).json["id"]
    stopped = callers[1].post(f"/v1/responses/{response}/cancel")
    assert stopped.status == 200, stopped.body
    assert stopped.json["status"] == "cancelled"
    assert stopped.json == callers[0].get(f"/v1/responses/{response}").json


def test_a_server_that_does_not_answer_is_told_of_in_time(
    servers: Servers, callers: tuple[Caller, Caller], held: HeldModel
) -> None:
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    turn, there = talk.begin(question.question), through(callers[1], talk)
    servers[0].terminate(signal.SIGSTOP)
    try:
        began = time.monotonic()
        refused = there.cancel(turn)
        assert time.monotonic() - began < 15
        assert refused.status == 503
        assert refused.json["error"]["code"] == "server_does_not_answer"
        assert refused.headers["retry-after"]
    finally:
        servers[0].terminate(signal.SIGCONT)
    # what it was told meanwhile it does when it comes back
    assert eventually(lambda: talk.turn(turn)["status"] == "cancelled")
