"""kill -9 in the middle of turns: what was finished stays, what was being typed stays but for its
last moment, nothing that was acknowledged is lost, and the next start says what happened."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPException
from typing import Any

import pytest

from tests.support.depth import deep
from tests.support.live.caller import Caller, CutOff, Frame, Talk, answer_to, script, tool
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import events, numbers, opened, text_of

pytestmark = pytest.mark.server

TYPED_S = 0.25
"""What is being typed is stored this often."""
COMMIT_S = 0.5
"""And then has to be committed, on a machine that has other things to do."""
READS_S = 15.0
"""Reading takes a moment also while nobody can write."""
STEPS = ["inference", "tool_execution", "inference"]
ANSWER = " ".join(map(str, range(3000)))


class Watched:
    """A turn that never ends, read by its caller until the server is gone."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.heard: list[tuple[float, Frame]] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        text = script("say Let me look.", 'call get_weather {"city": "Oslo"}', "then", f"say {ANSWER}")
        try:
            with self.talk.saying(text) as stream:
                for frame in stream:
                    self.heard.append((time.monotonic(), frame))
        except (OSError, HTTPException, CutOff):
            pass  # the server is gone

    @property
    def frames(self) -> list[Frame]:
        return [frame for _, frame in self.heard]

    @property
    def turn(self) -> str:
        return str(self.frames[0].payload["turn_id"])

    def typed(self, until: float = float("inf")) -> str:
        """The answer as far as it was heard by then."""
        told = [(at, frame) for at, frame in self.heard if frame.type == "step_progress"]
        return "".join(frame.text for at, frame in told if at <= until).removeprefix("Let me look.")

    def join(self) -> None:
        self._thread.join()


class Acknowledged:
    """Turns made one after the other until the server is gone, and the answers that were received."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.turns: list[Any] = []
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            while (answer := self.talk.say(script("say Yes."))).status == 200:
                self.turns.append(answer.json)
        except (OSError, HTTPException):
            pass  # the server is gone

    def join(self) -> None:
        self._thread.join()


def crash(server: ServerProcess, watched: list[Watched], acknowledged: Acknowledged, frames: int) -> float:
    """Kill the server when the first of these has heard so many frames; returns when that was."""
    eventually(lambda: len(watched[0].heard) >= frames and all(one.heard for one in watched))
    at = time.monotonic()
    server.kill()
    everyone: list[Watched | Acknowledged] = [*watched, acknowledged]
    for one in everyone:
        one.join()
        one.talk.caller = acknowledged.talk.caller
    acknowledged.talk.caller.port = server.start().port
    return at


def told(frames: list[Frame]) -> list[Any]:
    """What is no piece of a text."""
    return [frame.data for frame in frames if frame.type != "step_progress"]


def check(server: ServerProcess, one: Watched, crashed_at: float) -> None:
    """The turn as the next start finds it."""
    turn = eventually(lambda: (told := one.talk.turn(one.turn))["status"] != "in_progress" and told)
    assert turn["status"] == "interrupted"
    assert [step["step_type"] for step in turn["steps"]] == STEPS[: len(turn["steps"])]
    kept = turn["steps"][2]["model_response"]["content"] if len(turn["steps"]) == 3 else ""
    assert ANSWER.startswith(kept)
    assert ANSWER.startswith(one.typed())
    assert len(kept) >= len(one.typed(until=crashed_at - TYPED_S - COMMIT_S))
    if kept:
        assert turn["output_message"]["content"] == kept

    replayed = one.talk.frames(one.turn)
    assert told(replayed)[: len(told(one.frames))] == told(one.frames)
    assert replayed[-1].data["error"]["type"] == "interrupted"
    with opened(server) as socket:
        socket.subscribe(f"turn:{one.turn}")
        heard = events(socket.to_op("end"))
    assert numbers(heard) == list(range(len(numbers(heard))))
    assert text_of(heard).removeprefix("Let me look.") == kept
    if kept:
        assert heard[-1]["text_kept"] == len(kept)
    again = one.talk.say(script("say Here again.")).json
    assert (again["status"], again["output_message"]["content"]) == ("completed", "Here again.")


def watch(caller: Caller, count: int) -> tuple[list[Watched], Acknowledged]:
    talks = [Talk(caller, model="scripted/demo", toolgroups=["builtin::demo"]) for _ in range(count)]
    return [Watched(talk) for talk in talks], Acknowledged(Talk(caller))


def test_a_crash_keeps_what_was_said(start_server: Callable[..., ServerProcess]) -> None:
    own_server = start_server(RESUME_RUNS="0")
    watched, acknowledged = watch(Caller(own_server.port), 2)
    crashed_at = crash(own_server, watched, acknowledged, frames=80)

    for one in watched:
        check(own_server, one, crashed_at)
    assert len(watched[0].talk.turn(watched[0].turn)["steps"]) == 3
    kept = {turn["turn_id"]: turn for turn in acknowledged.talk.turns()}
    assert [kept[turn["turn_id"]] for turn in acknowledged.turns] == acknowledged.turns


@pytest.mark.slow
def test_a_turn_that_waits_survives(own_server: ServerProcess) -> None:
    caller = Caller(own_server.port)
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    waiting = talk.say(script('call ask_user {"question": "?"}', "then", "say Thanks.")).json
    own_server.kill()
    caller.port = own_server.start().port

    assert talk.turns() == [waiting]
    call = waiting["output_message"]["tool_calls"][0]
    done = talk.answer(waiting["turn_id"], answer_to(call, "Monday")).json
    assert done["status"] == "completed"
    assert done["output_message"]["content"] == "Thanks."
    assert done["turn_id"] == waiting["turn_id"]


@pytest.mark.slow
@pytest.mark.timeout(deep(600, 3600))
def test_crashes_at_any_moment_keep_what_was_said(start_server: Callable[..., ServerProcess]) -> None:
    own_server = start_server(RESUME_RUNS="0")
    moments = random.Random(20261120)
    for _ in range(deep(4, 100)):
        watched, acknowledged = watch(Caller(own_server.port), 4)
        crashed_at = crash(own_server, watched, acknowledged, frames=moments.randint(1, 120))
        for one in watched:
            check(own_server, one, crashed_at)
        kept = {turn["turn_id"]: turn for turn in acknowledged.talk.turns()}
        assert [kept[turn["turn_id"]] for turn in acknowledged.turns] == acknowledged.turns
    file = own_server.folder / "data" / "agents.sqlite3"
    if file.exists():
        with closing(sqlite3.connect(file)) as store:
            assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.slow
@pytest.mark.skipif(bool(os.environ.get("TEST_DATABASE_URL")), reason="only SQLite has one lock for all")
def test_a_locked_store_delays_and_loses_nothing(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server()
    file = server.folder / "data" / "agents.sqlite3"
    talk = Talk(Caller(server.port), model="scripted/demo", toolgroups=["builtin::demo"])
    lines = ["say One.", "call get_weather {}", "then", "repeat 100 tick", "call get_weather {}", "then", "say End."]
    with talk.saying(script(*lines)) as stream:
        seen = stream.until(lambda frame: frame.type == "step_complete")
        with closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as store:
            store.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with ThreadPoolExecutor(12) as pool:  # more than there are threads that have been here before
                assert {answer.status for answer in pool.map(lambda _: talk.caller.get(talk.path), range(24))} == {200}
            assert time.monotonic() - began < READS_S
            time.sleep(13)  # longer than a write waits for the lock
        seen += list(stream)

    turn = seen[-1].payload["turn"]
    assert turn["status"] == "completed"
    assert [step["step_type"] for step in turn["steps"]] == ["inference", "tool_execution"] * 2 + ["inference"]
    assert talk.turns() == [turn]
    assert [frame.data for frame in talk.frames(turn["turn_id"])] == [frame.data for frame in seen]
