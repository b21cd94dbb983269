"""More turns than a server runs at once: they wait in line, can be cancelled there, and are not
forgotten by a crash."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.server.caller import Caller, Talk, script
from tests.server.held_model import Held, HeldModel
from tests.server.process import ServerProcess, eventually

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def narrow(start_server: Callable[..., ServerProcess]) -> ServerProcess:
    """A server that runs one turn at a time."""
    return start_server(MAX_RUNNING="1")


def occupied(caller: Caller, held: HeldModel) -> tuple[Talk, str, Held]:
    """The one turn that runs."""
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    eventually(lambda: question.asked)
    return talk, turn, question


def test_turns_wait_for_their_place(narrow: ServerProcess, held: HeldModel) -> None:
    caller = Caller(narrow.port)
    first, running, question = occupied(caller, held)
    waiting = Talk(caller)
    with waiting.saying(script("say At last.")) as stream:
        turn = next(iter(stream)).payload["turn_id"]
        assert waiting.turn(turn)["status"] == "queued"
        assert waiting.say("Me too!").status == 409
        question.end("Done.")
        assert list(stream)[-1].payload["turn"]["output_message"]["content"] == "At last."

    assert first.turn(running)["status"] == waiting.turn(turn)["status"] == "completed"


def test_a_turn_in_line_is_cancelled(narrow: ServerProcess, held: HeldModel) -> None:
    caller = Caller(narrow.port)
    _, _, question = occupied(caller, held)
    waiting = Talk(caller)
    turn = waiting.begin("Hello")
    assert waiting.cancel(turn).json["status"] == "cancelled"
    question.end("Done.")

    assert waiting.turn(turn)["steps"] == []
    assert waiting.say(script("say Again.")).json["output_message"]["content"] == "Again."


def test_a_crash_interrupts_those_in_line(narrow: ServerProcess, held: HeldModel) -> None:
    caller = Caller(narrow.port)
    first, running, _ = occupied(caller, held)
    waiting = Talk(caller)
    turn = waiting.begin("Hello")
    narrow.kill()
    caller.port = narrow.start().port

    assert first.turn(running)["status"] == waiting.turn(turn)["status"] == "interrupted"
    assert waiting.say(script("say Again.")).json["output_message"]["content"] == "Again."


def test_a_response_in_line_is_told_the_same_later(narrow: ServerProcess, held: HeldModel) -> None:
    caller = Caller(narrow.port)
    _, _, question = occupied(caller, held)
    body = {"model": "scripted/fast", "input": script("say At last."), "background": True}
    waiting = caller.post("/v1/responses", body).json
    assert (waiting["status"], waiting["output"]) == ("queued", [])
    path = f"/v1/responses/{waiting['id']}"
    with caller.open("GET", f"{path}?stream=true") as response:
        first = response.readline() + response.readline()
        question.end("Done.")
        whole = first + b"\n" + response.read().lstrip(b"\n")
    assert caller.get(f"{path}?stream=true").body == whole
    assert b'"status":"queued"' not in whole
    assert caller.get(path).json["status"] == "completed"


def test_a_response_in_line_is_streamed_as_any_other(narrow: ServerProcess, held: HeldModel) -> None:
    caller = Caller(narrow.port)
    _, _, question = occupied(caller, held)
    body = {"model": "scripted/fast", "input": script("say At last."), "stream": True}
    with caller.open("POST", "/v1/responses", body) as response:
        first = response.readline()
        question.end("Done.")
        whole = first + response.read()
    last = json.loads(whole.rstrip().rpartition(b"data: ")[2])
    assert caller.get(f"/v1/responses/{last['response']['id']}?stream=true").body == whole
