"""What a serving process counts that a test's own process has not: readers, the writer's commits, itself."""

from __future__ import annotations

import pytest

from tests.support import metrics
from tests.support.live.caller import Caller, Talk
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import opened
from tests.support.metrics import Scrape

pytestmark = pytest.mark.server


def scrape(caller: Caller) -> Scrape:
    answer = caller.get("/metrics")
    assert answer.status == 200, answer.body
    return metrics.read(answer.body.decode())


@pytest.fixture
def caller(own_server: ServerProcess) -> Caller:
    """Of one process: each tells what it has counted itself."""
    return Caller(own_server.port)


def test_readers_are_counted_while_they_read(own_server: ServerProcess, caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    before = scrape(caller)

    def more(kind: str) -> float:
        now = scrape(caller)
        return now.value("turnlog_readers", kind=kind) - before.value("turnlog_readers", kind=kind)

    with talk.saying(question.question) as stream:
        next(iter(stream))
        running = scrape(caller).value("turnlog_turns_running")
        assert more("stream") == 1
        with opened(own_server):
            eventually(lambda: more("socket") == 1)
        eventually(lambda: more("socket") == 0)
        question.end("Done.")
        assert list(stream)
    assert running >= 1
    eventually(lambda: more("stream") == 0)
    assert scrape(caller).value("turnlog_turn_seconds_count", outcome="completed") == 1 + before.value(
        "turnlog_turn_seconds_count", outcome="completed"
    )


def test_commits_and_the_process_are_measured(caller: Caller) -> None:
    before = scrape(caller)
    assert Talk(caller).say("hello").status == 200
    after = scrape(caller)
    assert after.value("turnlog_writer_commit_seconds_count") > before.value("turnlog_writer_commit_seconds_count")
    assert after.value("turnlog_writer_jobs_total") > before.value("turnlog_writer_jobs_total")
    assert after.value("turnlog_writer_queue") == 0
    assert after.value("turnlog_ready") == 1
    assert after.value("turnlog_database_bytes") > 0
    assert after.value("turnlog_disk_free_bytes") > 0
    assert after.value("process_cpu_seconds_total") > before.value("process_cpu_seconds_total")
    assert after.value("process_open_fds") > 0
