"""Everything at once, again and again: at the end the server holds no more than it did when it was warm."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import psycopg
import pytest
from openai import OpenAI

from agentsite.request_threads import IDLE_S
from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import follow_list, opened
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(deep(300, 7000))]

CALLERS = 4
ROUNDS = deep(5, 1500)
"""Of each caller, and each is all that is below."""
WARM = deep(2, 100)
"""Before as many of them the server is not warm."""
GROWTH = deep(40, 120) * 2**20
"""Of memory: what the interpreter keeps for itself comes on top of what is held."""
QUIET_S = 60.0


@dataclass(frozen=True)
class Held:
    """What a process holds: threads, open files that are no sockets, sockets, connections to its database that
    somebody uses, and memory."""

    threads: int
    files: int
    sockets: int
    connections: int
    memory: int


def held(server: ServerProcess) -> Held:
    process = Path(f"/proc/{server.pid}")
    links = [_link(each) for each in (process / "fd").iterdir()]
    [line] = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS")]
    sockets = sum(link.startswith("socket:") for link in links)
    return Held(
        threads=len(list((process / "task").iterdir())),
        files=len(links) - sockets,
        sockets=sockets,
        connections=_busy(server.database_url)
        if server.database_url
        else sum(link.endswith(".sqlite3") for link in links),
        memory=int(line.split()[1]) * 1024,
    )


def _link(entry: Path) -> str:
    try:
        return os.readlink(entry)
    except OSError:  # closed since it was listed
        return ""


def _busy(url: str) -> int:
    """Connections to a database that are in the middle of something, but for this one."""
    with psycopg.connect(url) as connection:
        asked = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND state <> 'idle' AND backend_type = 'client backend'"
        )
        [(count,)] = connection.execute(asked).fetchall()
        return int(count)


class Load:
    """One caller's share of everything. What is answered must be right; a caller that leaves says nothing."""

    def __init__(self, server: ServerProcess, number: int) -> None:
        self._server = server
        self._caller = Caller(server.port)
        self._talk = Talk(self._caller, toolgroups=["builtin::demo"])
        self._chance = random.Random(number)
        self._number = number
        self._sent = 0

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.round()

    def round(self) -> None:
        """Each kind of request once, in an order of chance."""
        kinds: list[Callable[[], None]] = [
            self._turns,
            self._streams,
            self._leaves_a_stream,
            self._cancels,
            self._reads,
            self._watches,
            self._reports,
            self._bad_bodies,
            self._files,
            self._forgets,
        ]
        self._chance.shuffle(kinds)
        for kind in kinds:
            kind()

    def _turns(self) -> None:
        said = self._talk.aside().say(script("say Hm.", 'call get_weather {"city": "Oslo"}', "then", "say Rain."))
        assert said.json["status"] == "completed"

    def _streams(self) -> None:
        with self._talk.aside().saying(script("repeat 12 word")) as stream:
            assert list(stream)[-1].type == "turn_complete"

    def _leaves_a_stream(self) -> None:
        with self._talk.aside().saying(script("repeat 12 word")) as stream:
            next(iter(stream))

    def _cancels(self) -> None:
        aside = self._talk.aside()
        turn = aside.begin(script("wait 30s", "say Never."))
        assert aside.cancel(turn).status == 200
        assert aside.turn(turn)["status"] == "cancelled"

    def _reads(self) -> None:
        for path in ("/v1/logs/turns?limit=50", "/v1/logs/sessions/facets", "/logs/", "/logs/numbers/", "/sessions/"):
            assert self._caller.get(path).status == 200, path
        assert self._caller.get("/v1/logs/turns/export?format=csv&q=status:completed").status == 200

    def _watches(self) -> None:
        with opened(self._server) as socket:
            follow_list(socket, "logs")

    def _reports(self) -> None:
        self._sent += 1
        trace = self._number * 1_000_000 + self._sent
        assert self._caller.post("/v1/traces", reports.request(*reports.turn(trace, "soak"))).status == 200

    def _bad_bodies(self) -> None:
        assert self._caller.post("/v1/agents", {"agent_config": 7}).status == 400
        assert self._caller.get("/v1/agents/nobody").status == 404
        connection = HTTPConnection("127.0.0.1", self._server.port)
        connection.request("POST", "/v1/agents", headers={"Content-Length": "1000"}, body=b"{")
        connection.close()  # it would have said more

    def _files(self) -> None:
        with OpenAI(base_url=f"{self._server.base}/v1", api_key="none", max_retries=0) as client:
            file = client.files.create(file=("kettle.txt", b"A kettle. " * 5000), purpose="assistants")
            assert len(client.files.content(file.id).read()) == 50_000
            client.files.delete(file.id)

    def _forgets(self) -> None:
        talk = Talk(self._caller)
        assert talk.say("hello").json["status"] == "completed"
        assert self._caller.delete(f"/v1/agents/{talk.agent}").status == 204


def unfinished(server: ServerProcess) -> int:
    """Turns that have not ended, as the log has them."""
    path = "/v1/logs/turns?q=status:(running%20OR%20queued%20OR%20awaiting_input)"
    return len(Caller(server.port).get(path).json["data"])


def settled(server: ServerProcess) -> Held:
    """Return what it holds once idle threads have ended: when that is stable for longer than a thread idles."""
    last, since = held(server), time.monotonic()

    def is_the_same() -> bool:
        nonlocal last, since
        now = held(server)
        if (now.threads, now.sockets, now.files) != (last.threads, last.sockets, last.files):
            last, since = now, time.monotonic()
        return time.monotonic() - since > IDLE_S + 1

    eventually(is_the_same, QUIET_S)
    return held(server)


def is_back(now: Held, warm: Held) -> bool:
    return (
        now.threads <= warm.threads + 2
        and now.files <= warm.files + 2
        and now.sockets <= warm.sockets + 1
        and now.connections <= warm.connections + 2
    )


def test_a_server_under_load_comes_to_rest(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    loads = [Load(server, number) for number in range(CALLERS)]

    def play(rounds: int) -> None:
        with ThreadPoolExecutor(CALLERS) as pool:
            for done in [pool.submit(load.rounds, rounds) for load in loads]:
                done.result()
        eventually(lambda: unfinished(server) == 0, QUIET_S)

    play(WARM)
    rests = [settled(server)]
    for _ in range(3):  # a pool starts a thread when it first needs one more, and keeps it; a leak grows each time
        play(ROUNDS)
        rests.append(settled(server))
        if is_back(rests[-1], rests[-2]):
            break
    assert is_back(rests[-1], rests[-2]), rests
    assert rests[-1].memory - rests[-2].memory < GROWTH, rests
    assert len(server.log) < 20_000, server.log[-2000:]
