"""Three servers behind a proxy are restarted one after the other under load, and nobody notices: no request fails, no
turn is interrupted, and who follows one misses nothing."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.support.depth import deep
from tests.support.live.caller import Caller, CutOff, Frame, Talk, script
from tests.support.live.process import ServerProcess, database
from tests.support.live.proxy import proxied

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.several,
    pytest.mark.timeout(deep(600, 3600)),
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="several servers share a PostgreSQL"),
]

# longer than the proxy takes to notice, as README says: it shares its process with all readers, and took up to 1.6 s
# beside 200 of them, and longer than a second beside 30 on a machine that was busy
STOP_DELAY_S = 5
SHARED = {
    "SECRET_KEY": "of all of them" * 4,
    "STOP_DELAY_SECONDS": str(STOP_DELAY_S),
    "DRAIN_SECONDS": "3",
    "MAX_RUNNING": "200",
}
LONG = script(*["say This takes its time.", "call get_weather {}", "then", "wait 2s"] * 8, "say Done.")


class Worker(threading.Thread):
    """Does something again and again until it is told to end."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.count, self.ends = 0, threading.Event()
        self.error: BaseException | None = None
        self._work = work

    def run(self) -> None:
        try:
            while not self.ends.is_set():
                self._work()
                self.count += 1
        except BaseException as error:  # noqa: BLE001 - told by whoever waits for the thread
            self.error = error


class Reader(threading.Thread):
    """Follows a turn to its end, from where it was whenever its stream is cut."""

    def __init__(self, talk: Talk, turn: str) -> None:
        super().__init__(daemon=True)
        self.talk, self.turn = talk, turn
        self.frames: list[Frame] = []
        self.connections = 0

    def run(self) -> None:
        while not (self.frames and self.frames[-1].type == "turn_complete"):
            after = self.frames[-1].cursor if self.frames else ""
            self.connections += 1
            try:
                with self.talk.following(self.turn, after) as stream:
                    self.frames += [frame for frame in stream if frame.cursor]
            except (OSError, HTTPException, CutOff):
                continue


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack:
        where = stack.enter_context(database(empty=False))
        started = []
        for number in range(3):
            folder = tmp_path / f"server-{number}"
            folder.mkdir()
            server = ServerProcess(folder, {**SHARED, **where})
            stack.callback(server.kill)
            started.append(server.start())
        yield started
        for server in started:
            server.stop()
            assert " ERROR " not in server.log, server.log[-4000:]


@contextmanager
def load(talk: Talk) -> Iterator[None]:
    """Short turns and reads all the time, none of which may fail."""

    def short() -> None:
        told = talk.aside().say(script("say Here.", "wait 200ms", "say I am."))
        assert told.status == 200, told.body
        assert told.json["status"] == "completed", told.body

    def read() -> None:
        told = talk.caller.get("/v1/logs/turns?limit=20")
        assert told.status == 200, told.body

    workers = [Worker(short) for _ in range(4)] + [Worker(read) for _ in range(2)]
    for worker in workers:
        worker.start()
    yield
    for worker in workers:
        worker.ends.set()
        worker.join(60)
        assert worker.error is None, worker.error
    assert min(worker.count for worker in workers) > 3


def restarted(servers: Sequence[ServerProcess], talk: Talk, choose: random.Random) -> list[Reader]:
    """Restart one server after the other while long turns run and are followed; returns who followed them."""
    begun = [(one, one.begin(LONG)) for one in (talk.aside() for _ in range(3))]
    readers = [Reader(*choose.choice(begun)) for _ in range(deep(30, 200))]
    for reader in readers:
        reader.start()
    for server in servers:
        server.stop()
        server.start(server.port)
    for reader in readers:
        reader.join(120)
        assert not reader.is_alive()
    for one, turn in begun:
        assert one.turn(turn)["status"] == "completed"
    return readers


def test_a_rolling_restart_is_not_noticed(servers: list[ServerProcess]) -> None:
    choose = random.Random(20261125)
    with proxied(servers, choose) as proxy:
        talk = Talk(Caller(proxy.port), toolgroups=["builtin::demo"])
        with load(talk):
            readers = [reader for _ in range(deep(1, 10)) for reader in restarted(servers, talk, choose)]
        whole: dict[str, list[Frame]] = {}
        for reader in readers:
            frames = whole.setdefault(reader.turn, reader.talk.frames(reader.turn))
            assert [frame.data for frame in reader.frames] == [frame.data for frame in frames]
        assert sum(reader.connections for reader in readers) > len(readers)
        assert talk.caller.get("/v1/logs/turns?q=status:interrupted").json["data"] == []
