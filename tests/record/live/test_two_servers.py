"""Two servers on one PostgreSQL: a turn of one is followed on the other token by token, on every road."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.live import two_servers
from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess
from tests.support.live.sockets import events, opened
from tests.support.live.two_servers import through

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

Servers = tuple[ServerProcess, ServerProcess]
SOON_S = 0.2
"""Sooner than a poll of the store could bring it, on a machine that is busy."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[Servers]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders, held.environment) as both:
        yield both


@pytest.fixture
def callers(servers: Servers) -> tuple[Caller, Caller]:
    one, two = servers
    return Caller(one.port), Caller(two.port)


def test_a_stream_on_the_other_server_is_the_same_and_comes_as_it_is_typed(
    callers: tuple[Caller, Caller], held: HeldModel
) -> None:
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    turn = talk.begin(question.question)
    with talk.following(turn) as here, through(callers[1], talk).following(turn) as there:
        question.say("One ")
        own = here.until(lambda frame: frame.text == "One ")
        others = there.until(lambda frame: frame.text == "One ")
        delays = []
        for number in range(20):
            question.say(f"{number} ")
            own += here.until(lambda frame, said=f"{number} ": frame.text == said)
            began = time.monotonic()
            others += there.until(lambda frame, said=f"{number} ": frame.text == said)
            delays.append(time.monotonic() - began)
        question.end()
        own += list(here)
        others += list(there)
    assert [(frame.cursor, frame.data) for frame in others] == [(frame.cursor, frame.data) for frame in own]
    assert sorted(delays)[len(delays) // 2] < SOON_S
    assert [frame.data for frame in talk.frames(turn)] == [frame.data for frame in own]


def test_a_response_and_a_socket_on_the_other_server_are_the_same(
    servers: Servers, callers: tuple[Caller, Caller], held: HeldModel
) -> None:
    question = held.hold()
    body = {"model": "held/held", "input": question.question, "background": True}
    response = callers[0].post("/v1/responses", body).json["id"]
    path = f"/v1/responses/{response}?stream=true"
    question.say("One ")
    with callers[1].open("GET", path) as there:
        lines: list[bytes] = []
        while b"One " not in (line := there.readline()):
            lines.append(line)
        question.say("two.")
        question.end()
        lines = [*lines, line, *there]
    with callers[0].open("GET", path) as here:
        assert data_of(list(here)) == data_of(lines)

    turn = callers[0].get("/v1/logs/turns?limit=1").json["data"][0]["id"]
    told: list[Any] = []
    for server in servers:
        with opened(server) as socket:
            socket.subscribe(f"turn:{turn}")
            told.append(events(socket.to_op("end")))
    assert told[0] == told[1]


def data_of(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if line.startswith(b"data:")]


def test_who_follows_on_the_other_server_goes_on_over_waiting(servers: Servers, callers: tuple[Caller, Caller]) -> None:
    talk = Talk(callers[0], client_tools=[tool("ask", "question")])
    turn = talk.say(script('call ask {"question": "?"}', "then", "repeat 50 word", "say Done.")).json
    [call] = turn["output_message"]["tool_calls"]
    key = turn["turn_id"]
    with opened(servers[1]) as there:
        there.subscribe(f"turn:{key}")
        seen = there.until(lambda message: '"turn.awaiting_input"' in json.dumps(message))
        assert talk.answer(key, answer_to(call, "yes")).json["status"] == "completed"
        seen += there.to_op("end")
    with opened(servers[0]) as here:
        here.subscribe(f"turn:{key}")
        stored = here.to_op("end")
    assert text_of(events(seen)) == text_of(events(stored))
    assert [event for event in events(seen) if event["type"] != "delta"] == [
        event for event in events(stored) if event["type"] != "delta"
    ]


def text_of(told: list[Any]) -> str:
    return "".join(event["text"] for event in told if event["type"] == "delta")


def test_where_no_message_gets_through_it_is_polled(servers: Servers, held: HeldModel) -> None:
    """Their connections for messages are cut again and again, for as long as the turn is typed."""
    callers = Caller(servers[0].port), Caller(servers[1].port)
    talk, question = Talk(callers[0], model="held/held"), held.hold()
    turn = talk.begin(question.question)
    own, others = [], []
    with (
        psycopg.connect(servers[0].database_url, autocommit=True) as control,
        talk.following(turn) as here,
        through(callers[1], talk).following(turn) as there,
    ):
        for number in range(5):
            control.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                " AND (query LIKE 'LISTEN %' OR query LIKE '%pg_notify%') AND pid <> pg_backend_pid()"
            )
            question.say(f"{number} ")
            own += here.until(lambda frame, said=f"{number} ": frame.text == said)
            others += there.until(lambda frame, said=f"{number} ": frame.text == said)
        question.end()
        own += list(here)
        others += list(there)
    assert [frame.data for frame in others] == [frame.data for frame in own]
