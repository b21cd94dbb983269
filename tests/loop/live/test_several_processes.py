"""Several servers on one PostgreSQL: what one of them can not go on with, another one does, and only one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import copy
from functools import partial
from typing import Any

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, database, eventually

pytestmark = [
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.several,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not os.environ.get("TEST_DATABASE_URL"), reason="several servers share a PostgreSQL"),
]

Start = Callable[..., ServerProcess]


@pytest.fixture
def start(tmp_path: Any, held: HeldModel) -> Iterator[Start]:
    """Starts servers on one new database."""
    with ExitStack() as stack:
        where = stack.enter_context(database(empty=False))
        servers: list[ServerProcess] = []

        def begin(**environment: str) -> ServerProcess:
            folder = tmp_path / f"server-{len(servers)}"
            folder.mkdir()
            shared = {"SECRET_KEY": "of all" * 8, "LEASE_SECONDS": "3", "DRAIN_SECONDS": "0"}
            server = ServerProcess(folder, {**shared, **held.environment, **where, **environment})
            servers.append(server)
            stack.callback(server.close_shell)
            stack.callback(server.kill)
            return server.start()

        yield begin
        for server in servers:
            if server.runs:
                server.stop()
            assert " ERROR " not in server.log, server.log[-4000:]


def elsewhere(talk: Talk, server: ServerProcess) -> Talk:
    """The same session, asked of another server."""
    other = copy(talk)
    other.caller = Caller(server.port)
    return other


def completed(talk: Talk, turn: str) -> Any:
    """The turn, if it is completed."""
    told = talk.turn(turn)
    return told["status"] == "completed" and told


def test_a_killed_process_is_followed_by_another(start: Start, held: HeldModel) -> None:
    one, two = start(), start()
    talk, question = Talk(Caller(one.port), model="held/held"), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    with elsewhere(talk, two).following(turn) as stream:
        one.kill()
        question.end()
        eventually(lambda: len(question.asked) == 2, within_s=10)
        question.end("The whole.")
        frames = list(stream)
    assert frames[-1].payload["turn"]["output_message"]["content"] == "The whole."
    assert [frame.type for frame in frames].count("turn_complete") == 1


def test_a_paused_process_loses_its_turns_and_says_so(start: Start, held: HeldModel) -> None:
    one, two = start(), start()
    talk, question = Talk(Caller(one.port), model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        turn = stream.until(lambda frame: frame.type == "turn_start")[0].payload["turn_id"]
        eventually(lambda: question.asked)
        one.terminate(signal.SIGSTOP)
        eventually(lambda: len(question.asked) == 2, within_s=30)
        one.terminate(signal.SIGCONT)
        question.say("The whole.")
        question.end()
        question.end()
        last = list(stream)[-1]
    over = eventually(lambda: (told := elsewhere(talk, two).turn(turn))["status"] == "completed" and told)
    assert last.payload["turn"] == over
    assert len(over["steps"]) == 2
    assert Talk(Caller(one.port)).say(script("say Here again.")).json["status"] == "completed"


def test_a_stopped_process_hands_its_turns_over(start: Start, held: HeldModel) -> None:
    one, two = start(), start()
    talk, question = Talk(Caller(one.port), model="held/held"), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    one.stop()
    question.end()
    eventually(lambda: len(question.asked) == 2, within_s=10)
    question.end("Done.")
    other = elsewhere(talk, two)
    over = eventually(lambda: (told := other.turn(turn))["status"] == "completed" and told)
    assert over["output_message"]["content"] == "Done."


def test_each_of_many_turns_goes_on_once(start: Start) -> None:
    one, two, three = start(), start(), start()
    talks = [Talk(Caller(one.port)) for _ in range(20)]
    words = " ".join(map(str, range(200)))
    turns = [talk.begin(script(f"say {words}", "wait 2s", "say Done.")) for talk in talks]
    one.kill()
    for talk, turn in zip(talks, turns, strict=True):
        talk.caller.port = two.port
        over = eventually(partial(completed, talk, turn))
        assert len([step for step in over["steps"] if not step.get("is_cut")]) == 1
    assert " ERROR " not in three.log
