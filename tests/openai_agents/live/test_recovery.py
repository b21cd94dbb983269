"""A server that is lost in the middle of a turn: the session stays usable, and nothing that was sent is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from openai import OpenAI

from tests.support.live.agents_api import Talk, agent, function, message, result
from tests.support.live.caller import script
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server


Connect = Callable[[ServerProcess], OpenAI]


@pytest.fixture
def client_of() -> Iterator[Connect]:
    """Makes clients of a server, which may be another one on the same data by then."""
    with ExitStack() as stack:
        yield lambda process: stack.enter_context(OpenAI(base_url=f"{process.base}/v1", api_key="none"))


def test_a_turn_that_was_cut_fails_and_the_session_goes_on(
    start_server: Callable[..., ServerProcess], held: HeldModel, client_of: Connect
) -> None:
    process = start_server(RESUME_RUNS="false")
    question = held.hold()
    talk = Talk.begin(client_of(process), text=question.question, agent=agent(model="held/held"))
    question.say("Half")
    eventually(lambda: any(item.type == "message" and item.role == "assistant" for item in talk.items()))
    process.kill()
    process.start()
    talk = Talk(client_of(process), talk.id)
    talk.until("idle")
    [turn] = talk.turns()
    assert (turn.status, turn.error.code) == ("failed", "internal_error")
    last = talk.items()[-1]
    assert (last.status, last.content[0].text) == ("incomplete", "Half")
    talk.sessions.update(talk.id, agent={"model": "scripted/fast"})
    with talk.sessions.stream(talk.id, input=script("say Again.")) as stream:
        assert stream.get_final_result().output_text == "Again."
    question.end()


def test_what_was_sent_before_the_loss_is_heard_after_it(
    start_server: Callable[..., ServerProcess], held: HeldModel, client_of: Connect
) -> None:
    process = start_server(RESUME_RUNS="true")
    first, second = held.hold(), held.hold()
    talk = Talk.begin(client_of(process), text=first.question, agent=agent(model="held/held"))
    first.say("Half")
    eventually(lambda: first.asked)
    talk.send(message(second.question))
    process.kill()
    first.end()  # the answer to nobody
    process.start()
    talk = Talk(client_of(process), talk.id)
    eventually(lambda: len(first.asked) == 2)
    first.end("Whole.")
    second.end("Heard.")
    talk.until("idle")
    assert talk.texts() == [first.question, "Whole.", second.question, "Heard."]
    assert [turn.status for turn in talk.turns()] == ["completed"]


def test_answers_that_came_before_the_loss_are_kept(
    start_server: Callable[..., ServerProcess], client_of: Connect
) -> None:
    process = start_server()
    calls = ('call get_time {"zone": "UTC"}', 'call get_time {"zone": "CET"}')
    talk = Talk.begin(client_of(process), *calls, "then", "say Both.", agent=agent(function("get_time", "zone")))
    first, second = talk.until("requires_action").required_actions
    talk.send(result(first, "twelve"))
    process.kill()
    process.start()
    talk = Talk(client_of(process), talk.id)
    assert talk.now().required_actions == [second]
    talk.send(result(second, "one"))
    talk.until("idle")
    assert [item.output for item in talk.items() if item.type == "function_call_output"] == ["twelve", "one"]
