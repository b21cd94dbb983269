"""A server whose store is in trouble, and then no more: nobody waits for long, nobody is told of a mistake,
what ran goes on, and the log stays short."""

from __future__ import annotations

import os
import resource
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from tests.support.live.caller import Answer, Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually

pytestmark = [pytest.mark.server, pytest.mark.slow]

LITE = not os.environ.get("TEST_DATABASE_URL")
BODY = {"agent_config": {"model": "scripted/fast", "instructions": "Be brief."}}


def spans() -> dict[str, Any]:
    """One of a trace of its own: what is known already needs no writing."""
    span = {"traceId": secrets.token_hex(16), "spanId": secrets.token_hex(8)}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


@contextmanager
def taken(server: ServerProcess) -> Iterator[None]:
    """Somebody else writes, and does not end."""
    with closing(sqlite3.connect(server.folder / "data" / "agents.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(server: ServerProcess) -> Iterator[None]:
    """No file may grow."""
    kept = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, kept[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, kept)


@contextmanager
def away(server: ServerProcess) -> Iterator[None]:
    """The database takes no connections, and has ended those there were."""
    name = sql.Identifier(urlsplit(server.database_url).path[1:])
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as control:
        control.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        control.execute(ended, [name.as_string(control).strip('"')])
        yield
        control.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


def asked(caller: Caller) -> list[Answer]:
    """Eighty at once that write, of clients and of senders of telemetry: more than there are threads."""
    with ThreadPoolExecutor(80) as pool:
        made = [
            pool.submit(caller.post, *(("/v1/agents", BODY) if number % 2 else ("/v1/traces", spans())))
            for number in range(80)
        ]
        return [one.result() for one in made]


@pytest.mark.parametrize("trouble", [taken, full] if LITE else [away])
def test_all_are_told_to_come_again_and_what_runs_goes_on(
    own_server: ServerProcess, held: HeldModel, trouble: object
) -> None:
    caller, logged = Caller(own_server.port), len(own_server.log)
    talk, question = Talk(caller, model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("Half ")
        stream.until(lambda frame: bool(frame.text))
        with trouble(own_server):  # type: ignore[operator]  # one of the above
            began = time.monotonic()
            answers = asked(caller)
            took = time.monotonic() - began
            assert {answer.status for answer in answers} == {503}
            assert all(int(answer.headers["retry-after"]) for answer in answers)
            assert took < 30  # and not five seconds each
            eventually(lambda: not own_server.is_ready())  # what was seen last counts for a second
            question.end("and whole.")
        told = list(stream)[-1].payload["turn"]
    assert told["output_message"]["content"] == "Half and whole."
    eventually(own_server.is_ready)
    assert {answer.status for answer in asked(caller)} == {200}
    if trouble is full:
        own_server.forgive()  # its log is a file, too
    else:
        assert len(own_server.log) - logged < 2000, own_server.log


@pytest.mark.skipif(not LITE, reason="PostgreSQL has no one place for writing")
def test_what_is_queued_begins_when_the_store_is_back(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server(MAX_RUNNING="1")
    caller = Caller(server.port)
    first, second = Talk(caller, model="held/held"), Talk(caller, model="held/held")
    asked, queued = held.hold(), held.hold()
    queued.end("My turn.")
    first.begin(asked.question)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(second.say, queued.question)
        eventually(lambda: [turn["status"] for turn in second.turns()] == ["queued"])
        with taken(server):
            asked.end("Done.")
            eventually(lambda: "held by somebody else" in server.log)  # the queued one has tried, too
        assert answer.result(30).json["output_message"]["content"] == "My turn."
