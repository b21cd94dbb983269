"""``manage.py partition`` beside two servers that write: nobody notices, and the next month is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.live import two_servers
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.process import ServerProcess

pytestmark = [*two_servers.MARKS, pytest.mark.timeout(300)]

Servers = tuple[ServerProcess, ServerProcess]


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    folders = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    with two_servers.two_servers(folders) as both:
        yield both


class Talker(threading.Thread):
    """Has turn after turn run on a server, until it is told to end."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.talk = Talk(Caller(server.port), toolgroups=["builtin::demo"])
        self.statuses: list[object] = []
        self.has_begun, self.ends = threading.Event(), threading.Event()

    def run(self) -> None:
        said = script("call get_weather {}", "then", "say " + "The heron is grey. " * 40)
        while not self.ends.is_set():
            turn = self.talk.say(said).json
            self.statuses.append(turn.get("status", turn))
            self.has_begun.set()

    def end(self) -> None:
        self.ends.set()
        self.join(30)


def parts_today() -> int:
    """How many parts a table has that is split today: this month and all before, two months to come, the rest. On the
    last day of a month the first part has the next month, too: what is written until its end must lie before."""
    today = datetime.now(UTC)
    return 4 if (today + timedelta(days=1)).month == today.month else 3


def test_servers_go_on_while_their_tables_are_split(servers: Servers) -> None:
    one, two = servers
    with ExitStack() as stack:  # whatever happens, the talkers end before their servers do
        talkers = [Talker(server) for server in servers]
        for talker in talkers:
            talker.start()
            stack.callback(talker.end)
            assert talker.has_begun.wait(30)
        before = Talk(Caller(one.port))
        early = before.say(script("say Early.")).json
        parts = f"{parts_today()} parts"
        told = one.manage("partition")
        assert told.count(parts) == 6, told
        for talker in talkers:
            talker.has_begun.clear()
            assert talker.has_begun.wait(30)
    for talker in talkers:
        assert set(talker.statuses) == {"completed"}
    other = two_servers.through(Caller(two.port), before)
    assert other.turn(early["turn_id"])["output_message"]["content"] == "Early."
    assert other.say(script("say Late.")).json["status"] == "completed"
    again = one.manage("partition")
    assert again.count(parts) == 6, again
