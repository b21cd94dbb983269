"""A commit of PostgreSQL whose answer is lost: whoever made it is told that it failed, and it is stored all the same.
A turn that is stored so is run by whoever has room, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.places import Place, placed
from tests.support.live.process import eventually
from tests.support.live.two_servers import MARKS, through

pytestmark = [*MARKS, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, held: HeldModel) -> Iterator[list[Place]]:
    with placed(tmp_path_factory.mktemp("lost"), held, 2) as both:
        yield both


@pytest.fixture
def place(places: list[Place]) -> Place:
    return places[0]


def test_a_turn_that_was_begun_so_is_run(place: Place) -> None:
    talk = Talk(Caller(place.server.port))
    place.network.lose(b"INSERT INTO agents_turn ")
    asked = script("say Here.")
    told = talk.say(asked, **{"Idempotency-Key": "once"})
    assert (told.status, place.network.lost.is_set()) == (503, True), told.body
    again = talk.say(asked, **{"Idempotency-Key": "once"})
    assert again.json["output_message"]["content"] == "Here.", again.body
    assert [turn["turn_id"] for turn in talk.turns()] == [again.json["turn_id"]]


def test_a_turn_that_was_resumed_so_goes_on(place: Place) -> None:
    talk = Talk(Caller(place.server.port), client_tools=[tool("ask", "question")])
    waiting = talk.say(script('call ask {"question": "?"}', "then", "say Done.")).json
    place.network.lose(b"leg_count = ")
    answered = talk.answer(waiting["turn_id"], answer_to(waiting["output_message"]["tool_calls"][0], "yes"))
    assert (answered.status, place.network.lost.is_set()) == (503, True), answered.body
    over = eventually(lambda: (told := talk.turn(waiting["turn_id"]))["status"] == "completed" and told)
    assert over["output_message"]["content"] == "Done."
    assert over["steps"][1]["tool_responses"][0]["content"] == "yes"


def test_a_turn_that_was_taken_over_so_goes_on(places: list[Place], held: HeldModel) -> None:
    lost, other = places
    talk, question = Talk(Caller(lost.server.port), model="held/held"), held.hold()
    turn, there = talk.begin(question.question), through(Caller(other.server.port), talk)
    eventually(lambda: question.asked)
    other.network.lose(b'SET "lease_owner" = ')
    lost.server.kill()
    question.end()
    eventually(other.network.lost.is_set)
    eventually(lambda: len(question.asked) == 2)
    question.end("Done.")
    over = eventually(lambda: (told := there.turn(turn))["status"] == "completed" and told)
    assert over["output_message"]["content"] == "Done."
    lost.server.start()
