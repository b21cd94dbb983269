"""The database goes away in the middle of turns, and comes back: nothing is lost or done twice, streams go on, and
whoever asks meanwhile is told to come again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.postgresql import crash, promote, restart, standby_of, started
from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.support.live.network import Network
from tests.support.live.places import Place, placed
from tests.support.live.process import eventually
from tests.support.live.sockets import numbers
from tests.support.live.two_servers import through
from tests.support.live.typed_turns import BETWEEN_TOKENS_S, Reading, Typist, assert_whole, ends, entries, typed

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.several,
    pytest.mark.timeout(deep(300, 900)),
    # the PostgreSQL phase of `make check` runs it
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="SQLite is a file, which goes nowhere"),
]

AWAY_S = deep(4, 120)
MIN_READ_BETWEEN = 10
"""Characters that are read between two requests: some half a second."""
AGENT = {"agent_config": {"model": "scripted/fast", "instructions": "x"}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[Place]:
    """A server whose tests mend its network."""
    with placed(tmp_path_factory.mktemp("away"), held, 1) as [only]:
        yield only


def has_read(reading: Reading, characters: int) -> bool:
    return len(reading.text) >= characters


def can_read(caller: Caller) -> bool:
    return caller.get("/v1/agents").status == 200


def is_not_ready(caller: Caller) -> bool:
    """What a server says of itself may be a second old."""
    return caller.get("/readyz").status == 503


def told_to_come_again(caller: Caller) -> None:
    """Whoever asks is, and is not kept waiting."""
    for path in ("/v1/agents", "/logs/"):
        answer = caller.get(path)
        assert (answer.status, answer.headers.get("retry-after", "").isdecimal()) == (503, True), (path, answer.body)
    assert caller.post("/v1/agents", AGENT).status == 503
    eventually(partial(is_not_ready, caller))


def nothing(_: Caller) -> None:
    """A database that takes what it is told and never answers cannot be told from a slow one."""


@pytest.mark.parametrize(
    ("goes", "is_asked"), [(Network.cut, told_to_come_again), (Network.go_silent, nothing)], ids=["refused", "silent"]
)
def test_a_turn_that_types_meanwhile_loses_nothing(
    place: Place,
    held: HeldModel,
    goes: Callable[[Network], None],
    is_asked: Callable[[Caller], None],
) -> None:
    caller, logged = Caller(place.server.port), len(place.server.log)
    with typed(caller, held) as (talk, typist, reading):
        goes(place.network)
        until = time.monotonic() + AWAY_S
        while time.monotonic() < until:
            seen = len(reading.text)
            is_asked(caller)
            assert caller.get("/healthz").status == 200
            eventually(partial(has_read, reading, seen + 1), 2)  # who reads does not notice
            # so that the log is of two minutes, not of a thousand requests
            eventually(partial(has_read, reading, seen + MIN_READ_BETWEEN))
        place.network.mend()
        with ThreadPoolExecutor(8) as pool:  # one of them finds out, and none is refused for that
            assert [found.status for found in pool.map(caller.get, ["/v1/agents"] * 16)] == [200] * 16
        eventually(place.server.is_ready)
        assert caller.post("/v1/agents", AGENT).status == 200
        answer = typist.finish()
        frames = reading.all()
    assert_whole(place.server, talk, frames, answer)
    assert len(typist.held.asked) == 1
    assert len(place.server.log) - logged < 20_000


def test_a_turn_that_ends_meanwhile_is_told_once_it_is_stored(place: Place, held: HeldModel) -> None:
    with typed(Caller(place.server.port), held) as (talk, typist, reading):
        place.network.cut()
        back_at = time.monotonic() + AWAY_S
        answer = typist.finish()
        eventually(lambda: reading.text == answer)
        eventually(lambda: time.monotonic() > back_at, AWAY_S + 1)
        assert reading.is_alive()
        assert "turn_complete" not in {frame.type for frame in reading.frames}
        place.network.mend()
        frames = reading.all()
    assert_whole(place.server, talk, frames, answer)


def test_a_server_that_was_cut_off_for_too_long_notices_that_its_turn_goes_on_elsewhere(
    tmp_path: Path, held: HeldModel
) -> None:
    answer = " ".join(map(str, range(800)))
    with placed(tmp_path, held, 2, LEASE_SECONDS="3") as [cut, other]:
        talk = Talk(Caller(cut.server.port), model="scripted/demo")
        elsewhere = through(Caller(other.server.port), talk)
        with talk.saying(script(f"say {answer}")) as stream:
            reading = Reading(stream)
            reading.start()
            eventually(lambda: "7 " in reading.text)
            turn = reading.frames[0].payload["turn_id"]
            cut.network.cut()
            eventually(lambda: any(step.get("is_cut") for step in elsewhere.turn(turn)["steps"]))
            cut.network.mend()
            eventually(lambda: "others took this process for gone" in cut.server.log)
            frames = reading.all()
        told = frames[-1].payload["turn"]
        assert told["output_message"]["content"] == answer
        typed, whole = told["steps"]
        assert answer.startswith(typed["model_response"]["content"])
        assert "".join(frame.text for frame in frames if frame.payload.get("step_id") == whole["step_id"]) == answer
        eventually(cut.server.is_ready)
        for each in (talk, elsewhere):
            [stored] = each.turns()
            assert (stored["turn_id"], stored["output_message"]) == (turn, told["output_message"])
            assert ends(each.frames(turn)) == ends(frames)
        logged = entries(other.server, turn)
        assert numbers(logged) == list(range(len(numbers(logged))))
        assert len([entry for entry in logged if entry.get("type") == "turn.taken_over"]) == 1


def test_who_reads_on_a_server_that_is_cut_off_reads_on_afterwards(tmp_path: Path, held: HeldModel) -> None:
    with placed(tmp_path, held, 2) as [cut, other]:
        question = held.hold()
        talk, typist = Talk(Caller(other.server.port), model="held/held"), Typist(question)
        turn = talk.begin(question.question)
        typist.start()
        with through(Caller(cut.server.port), talk).following(turn) as stream:
            reading = Reading(stream)
            reading.start()
            eventually(lambda: "3 " in reading.text)
            cut.network.cut()
            seen = len(typist.typed)
            eventually(lambda: len(typist.typed) > seen + AWAY_S / BETWEEN_TOKENS_S, 2 * AWAY_S)
            cut.network.mend()
            eventually(cut.server.is_ready)
            answer = typist.finish()
            frames = reading.all()
        assert [frame for frame in frames if frame.type == "error"] == []
        assert_whole(cut.server, talk, frames, answer)


def test_who_reads_what_is_stored_waits_for_the_database(place: Place) -> None:
    answer = " ".join(map(str, range(60_000)))  # more than fits between the server and a reader that pauses
    talk = Talk(Caller(place.server.port))
    turn = talk.say(script(f"say {answer}")).json["turn_id"]
    with talk.following(turn) as stream:
        first = stream.until(lambda frame: bool(frame.text))
        place.network.cut()
        back = threading.Timer(AWAY_S, place.network.mend)
        back.start()
        frames = [*first, *stream]
        back.join()
    assert [frame.data for frame in frames if frame.type == "error"] == []
    assert "".join(frame.text for frame in frames) == answer
    assert frames[-1].type == "turn_complete"


@pytest.fixture
def own_postgresql() -> Iterator[str]:
    """The URL of a server that a test may restart."""
    with started("fsync=off") as url:
        if url is None:
            raise FileNotFoundError("these tests restart a PostgreSQL of their own: install postgresql")
        yield url


def test_a_restart_of_the_database_costs_only_the_requests_under_way(
    tmp_path: Path, own_postgresql: str, held: HeldModel
) -> None:
    with placed(tmp_path, held, 1, own_postgresql) as [place], ThreadPoolExecutor(8) as pool:
        caller = Caller(place.server.port)
        with typed(caller, held) as (talk, typist, reading):
            list(pool.map(caller.get, ["/v1/agents"] * 16))  # so that several connections are there
            for _ in range(deep(2, 20)):
                restart(own_postgresql)
                assert caller.post("/v1/agents", AGENT).status == 200
                answers = list(pool.map(caller.get, ["/v1/agents", "/logs/"] * 8))
                assert [answer.status for answer in answers] == [200] * 16, answers
            answer = typist.finish()
            frames = reading.all()
        assert_whole(place.server, talk, frames, answer)


def test_a_standby_takes_the_place_of_the_database(tmp_path: Path, own_postgresql: str, held: HeldModel) -> None:
    with (
        standby_of(own_postgresql) as standby,
        placed(tmp_path, held, 2, own_postgresql) as places,
        ExitStack() as stack,
    ):
        callers = [Caller(place.server.port) for place in places]
        turns = [stack.enter_context(typed(caller, held)) for caller in callers]
        crash(own_postgresql)
        for place in places:
            place.network.lead_to("127.0.0.1", urlsplit(standby).port or 5432)
        for caller in callers:  # it can be read, and not yet written
            eventually(partial(can_read, caller))
            eventually(partial(is_not_ready, caller))
            assert caller.post("/v1/agents", AGENT).status == 503
        promote(standby)
        for place in places:
            eventually(place.server.is_ready)
        for (talk, typist, reading), place in zip(turns, places, strict=True):
            answer = typist.finish()
            assert_whole(place.server, talk, reading.all(), answer)
