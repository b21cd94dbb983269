"""More turns than a server runs at once: they wait in line, can be cancelled there, and are not
forgotten by a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually

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


@pytest.mark.timeout(deep(300, 1800))
def test_a_crash_with_very_many_open_turns_loses_none(start_server: Callable[..., ServerProcess]) -> None:
    """Some of them run, most stand in line; a few wait for their client, and go on waiting."""
    many = deep(60, 1000)
    server = start_server(MAX_RUNNING=str(many // 4), MAX_QUEUED=str(2 * many))
    caller = Caller(server.port)
    tools = [{"type": "function", "name": "ask_user", "parameters": {"type": "object"}}]
    asking = {"model": "scripted/fast", "input": script("call ask_user {}", "then", "say Thanks."), "tools": tools}
    unanswered = [caller.post("/v1/responses", asking).json["id"] for _ in range(3)]
    held_up = {"model": "scripted/fast", "input": script("say This far.", "wait 600s"), "background": True}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: caller.post("/v1/responses", held_up), range(many)))
    assert {answer.status for answer in answers} == {200}
    before = counted(caller)
    assert before["queued"] > before["in_progress"] > 0
    assert sum(before.values()) == many + 3

    server.kill()
    caller.port = server.start().port  # it is ready by then
    eventually(lambda: counted(caller) == before, within_s=60)
    for held in answers:  # they would take up all places for ten minutes
        assert caller.post(f"/v1/responses/{held.json['id']}/cancel").json["status"] == "cancelled"
    for name in unanswered:
        response = caller.get(f"/v1/responses/{name}").json
        [call] = [item for item in response["output"] if item["type"] == "function_call"]
        answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "Monday"}
        done = caller.post("/v1/responses", {**asking, "input": [answer], "previous_response_id": name}).json
        assert done["status"] == "completed"


def counted(caller: Caller) -> dict[str, int]:
    """How many turns there are of each status."""
    [facet] = caller.get("/v1/logs/turns/facets?by=status").json["data"]
    return {one["value"]: one["count"] for one in facet["values"]}
