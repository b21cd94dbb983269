"""Readers of a turn that somebody else began: from any position, in the middle of it, many at once;
and callers that leave."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.live.caller import Caller, Frame, Talk, answer_to, script, tool, user
from tests.support.live.held_model import HeldModel
from tests.support.live.process import eventually

pytestmark = pytest.mark.server


def busy_turn(caller: Caller) -> tuple[Talk, str]:
    """A finished turn of two legs with deltas of every kind."""
    talk = Talk(caller, toolgroups=["builtin::demo"], client_tools=[tool("ask_user", "question")])
    lines = ["think Hm, hm.", "say Let me look.", 'call get_weather {"city": "Oslo"}', 'call ask_user {"question": 1}']
    turn = talk.say(script(*lines, "then", "say It snows a lot.")).json
    [call] = turn["output_message"]["tool_calls"]
    assert talk.answer(turn["turn_id"], answer_to(call, "Monday")).json["status"] == "completed"
    return talk, turn["turn_id"]


def plain(frames: list[Frame]) -> list[tuple[str, Any]]:
    return [(frame.cursor, frame.data) for frame in frames]


def place(frame: Frame) -> tuple[int, int]:
    seq, _, ordinal = frame.cursor.partition(".")
    return int(seq), int(ordinal or 0)


def test_every_position_gives_exactly_the_rest(caller: Caller) -> None:
    talk, turn = busy_turn(caller)
    whole = talk.frames(turn)

    assert len({frame.cursor for frame in whole}) == len(whole)
    assert [place(frame) for frame in whole] == sorted(place(frame) for frame in whole)
    for number, frame in enumerate(whole, start=1):
        assert plain(talk.frames(turn, after=frame.cursor)) == plain(whole[number:])
        with talk.following(turn, headers={"Last-Event-ID": frame.cursor}) as stream:
            assert plain(list(stream)) == plain(whole[number:])
    with talk.following(turn, "-1") as stream:
        assert plain(list(stream)) == plain(whole)


@pytest.mark.parametrize("after", ["x", "1.y", "1.2.3", "7" * 30, "0x1"])
def test_a_position_that_is_none_is_refused(caller: Caller, after: str) -> None:
    talk, turn = busy_turn(caller)
    refused = caller.get(f"{talk.path}/turn/{turn}/events?after={after}")

    assert refused.status == 400
    assert refused.json["error"]["param"] == "after"


def test_a_position_beyond_the_end_gives_nothing(caller: Caller) -> None:
    talk, turn = busy_turn(caller)
    assert talk.frames(turn, after="999.5") == []


def test_the_callers_own_stream_is_what_others_read(caller: Caller) -> None:
    talk = Talk(caller)
    with talk.saying(script("repeat 300 word")) as stream:
        own = list(stream)

    assert [frame.data for frame in talk.frames(own[0].payload["turn_id"])] == [frame.data for frame in own]


def test_one_who_joins_in_the_middle_sees_all(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("One ")
        question.say("two ")
        own = stream.until(lambda frame: frame.text == "two ")
        turn = own[0].payload["turn_id"]
        with talk.following(turn) as early:
            seen = early.until(lambda frame: frame.text == "two ")
            with talk.following(turn, after=seen[-1].cursor) as late:
                question.end("three.")
                rest = list(late)
            seen += list(early)
        own += list(stream)

    assert "".join(frame.text for frame in rest) == "three."
    assert [frame.data for frame in seen] == [frame.data for frame in own]
    assert plain(seen) == plain(talk.frames(turn))
    assert plain(rest) == plain(seen[-len(rest) :])


def test_readers_at_once_read_the_same(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(talk.frames, turn) for _ in range(6)]
        for number in range(200):
            question.say(f"{number} ")
        question.end()
        seen = [plain(reader.result()) for reader in readers]

    assert seen == [plain(talk.frames(turn))] * 6
    assert len(seen[0]) == 200 + 4


def test_a_caller_that_leaves_loses_nothing(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("Half ")
        turn = stream.until(lambda frame: frame.text == "Half ")[0].payload["turn_id"]
    assert talk.turn(turn)["status"] == "in_progress"
    question.end("and whole.")

    done = eventually(lambda: (found := talk.turn(turn))["status"] == "completed" and found)
    assert done["output_message"]["content"] == "Half and whole."
    assert talk.frames(turn)[-1].payload["turn"] == done


def test_a_caller_that_does_not_wait_for_its_answer_loses_nothing(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    with caller.sent("POST", f"{talk.path}/turn", {"messages": [user(question.question)]}):
        turn = eventually(talk.turns)[0]["turn_id"]
    question.end("All of it.")

    done = eventually(lambda: (found := talk.turn(turn))["status"] == "completed" and found)
    assert done["output_message"]["content"] == "All of it."


def test_a_cancelled_turn_keeps_what_was_said(caller: Caller, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    with talk.saying(question.question) as stream:
        question.say("Half a sent")
        turn = stream.until(lambda frame: bool(frame.text))[0].payload["turn_id"]
        cancelled = talk.cancel(turn)
        rest = list(stream)

    assert cancelled.status == 200
    assert cancelled.json["status"] == "cancelled"
    assert cancelled.json["output_message"]["content"] == "Half a sent"
    assert cancelled.json["steps"][0]["model_response"]["content"] == "Half a sent"
    assert rest[-1].data["error"]["code"] == 409
    assert cancelled.json == talk.turn(turn) == talk.cancel(turn).json
    again = held.hold()
    again.end("Again.")
    assert talk.say(again.question).json["output_message"]["content"] == "Again."


def test_a_turn_that_waits_can_be_cancelled(caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    waiting = talk.say(script('call ask_user {"question": "?"}')).json
    cancelled = talk.cancel(waiting["turn_id"]).json

    assert (waiting["status"], cancelled["status"]) == ("awaiting_input", "cancelled")
    assert talk.turn(waiting["turn_id"]) == cancelled
    assert talk.frames(waiting["turn_id"])[-1].data["error"]["type"] == "cancelled"


def test_a_new_message_closes_a_turn_that_waits(caller: Caller) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    waiting = talk.say(script('call ask_user {"question": "?"}')).json
    assert talk.say(script("say Never mind.")).json["status"] == "completed"

    assert [turn["status"] for turn in talk.turns()] == ["cancelled", "completed"]
    call = waiting["output_message"]["tool_calls"][0]
    late = talk.answer(waiting["turn_id"], answer_to(call, "Monday"))
    assert (late.status, late.json["error"]["code"]) == (409, "turn_not_waiting")
