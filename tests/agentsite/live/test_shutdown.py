"""Ending a server as an operator does: what runs may finish, nobody is cut off without a word, and
the exit code is 0."""

from __future__ import annotations

import re
import signal
from contextlib import ExitStack
from functools import partial

import pytest

from tests.support.depth import deep
from tests.support.live.caller import Caller, Talk, user
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.sockets import opened

pytestmark = pytest.mark.server

MISTAKE = re.compile(r"Traceback| ERROR | CRITICAL |after shutdown")


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_running_turns_may_finish(own_server: ServerProcess, held: HeldModel, how: signal.Signals) -> None:
    caller = Caller(own_server.port)
    talk, question = Talk(caller, model="held/held"), held.hold()
    with (
        talk.saying(question.question) as stream,
        opened(own_server) as socket,
        caller.sent("GET", "/v1/health") as kept,
    ):
        kept.getresponse().read()
        question.say("Half ")
        turn = stream.until(lambda frame: bool(frame.text))[0].payload["turn_id"]
        socket.subscribe(f"turn:{turn}")
        socket.to_op("live")
        own_server.terminate(how)
        eventually(lambda: not own_server.is_ready())  # it has heard, and takes nobody new
        kept.request("POST", f"{talk.path}/turn", '{"messages": []}', {"Content-Type": "application/json"})
        with kept.getresponse() as late:  # over a connection from before
            assert late.status == 503
            assert late.headers["Retry-After"]
        question.end("and whole.")
        told = list(stream)[-1].payload["turn"]
        assert socket.to_op("end")[-1]["op"] == "end"
        assert socket.closed() == 1001
        assert own_server.wait() == 0

    own_server.start(own_server.port)  # nobody holds its port or its data
    assert told["output_message"]["content"] == "Half and whole."
    assert talk.turns() == [told]


@pytest.mark.slow
def test_what_does_not_finish_goes_on_at_the_next_start(own_server: ServerProcess, held: HeldModel) -> None:
    caller = Caller(own_server.port)
    talk, other = Talk(caller, model="held/held"), Talk(caller, model="held/held")
    question, asked = held.hold(), held.hold()
    body = {"messages": [user(asked.question)]}
    with (
        talk.saying(question.question) as stream,
        caller.sent("POST", f"{other.path}/turn", body) as waiting,
        opened(own_server) as socket,
    ):
        question.say("This far")
        turn = stream.until(lambda frame: bool(frame.text))[0].payload["turn_id"]
        eventually(other.turns)
        socket.subscribe("logs")
        socket.to_op("live")
        own_server.terminate()
        last = list(stream)[-1].data
        with waiting.getresponse() as response:
            assert response.status == 503
            assert response.headers["Retry-After"] == "1"
        assert socket.closed() == 1001
        assert own_server.wait() == 0

    assert last["error"]["code"] == "server_stopping"
    for held_up in (question, asked):
        held_up.end()  # what nobody hears any more
    caller.port = own_server.start().port
    for held_up in (question, asked):
        eventually(partial(_asked_again, held_up))
        held_up.end("This far, and further.")
    kept = eventually(lambda: (told := talk.turn(turn))["status"] == "completed" and told)
    assert kept["steps"][0]["model_response"]["content"] == "This far"
    assert kept["output_message"]["content"] == "This far, and further."
    assert eventually(lambda: other.turns()[0]["status"] == "completed")
    again = held.hold()
    again.end("Here again.")
    assert talk.say(again.question).json["output_message"]["content"] == "Here again."


def _asked_again(question: Held) -> bool:
    return len(question.asked) == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_those_who_still_listen_are_let_go_without_a_mistake(own_server: ServerProcess, held: HeldModel) -> None:
    """Streams of every kind, some of which nobody reads, and sockets, on turns that go on for ever."""
    caller = Caller(own_server.port)
    for _ in range(deep(1, 12)):
        talk, question = Talk(caller, model="held/held"), held.hold()
        said = len(own_server.log)
        with ExitStack() as stack:
            own = stack.enter_context(talk.saying(question.question))
            question.say("This far")
            turn = own.until(lambda frame: bool(frame.text))[0].payload["turn_id"]
            streams = [stack.enter_context(talk.following(turn)) for _ in range(6)]
            for path, name in (("/v1/chat/completions", "messages"), ("/v1/responses", "input")):
                for _ in range(2):
                    other = held.hold()
                    other.say("This far")
                    body = {"model": "held/held", "stream": True, name: [user(other.question)]}
                    assert stack.enter_context(caller.stream(path, body)).status == 200
            sockets = [stack.enter_context(opened(own_server)) for _ in range(3)]
            for topic, socket in zip((f"turn:{turn}", "logs", "logs"), sockets, strict=True):
                socket.subscribe(topic)
                socket.to_op("live")
            own_server.terminate()
            last = [list(stream)[-1] for stream in (own, *streams[:3])]
            assert [socket.closed() for socket in sockets] == [1001] * 3
            assert own_server.wait() == 0
        assert {frame.data["error"]["code"] for frame in last} == {"server_stopping"}
        assert not MISTAKE.search(own_server.log, said), own_server.log[said:]
        caller.port = own_server.start().port
        assert talk.turn(turn)["status"] == "in_progress"
        assert talk.cancel(turn).status == 200


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(own_server: ServerProcess, held: HeldModel) -> None:
    Talk(Caller(own_server.port), model="held/held").begin(held.hold().question)
    own_server.terminate()
    eventually(lambda: not own_server.is_ready())
    own_server.terminate()
    assert own_server.wait() == -signal.SIGTERM
