"""Turns that call agents in a real server: they need no slot of their own, run beside each other, stop with the turn
that called, and are found again when their process is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.subagents.calling import call, calling
from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server


def ask(held: Held, name: str = "helper") -> str:
    """The line of a script that calls an agent whose answer is held."""
    return f"call {name} {json.dumps({'input': held.question})}"


def family(caller: Caller, model: str = "held/held", **args: Any) -> tuple[Talk, Talk]:
    """An agent that may call another one, and that one."""
    helper = Talk(caller, name="helper", model=model)
    return Talk(caller, name="chief", toolgroups=calling(helper.agent, **args)), helper


def below(talk: Talk, turn: str) -> list[dict[str, Any]]:
    """The turns that a turn has called, as they stand in the log."""
    found: list[dict[str, Any]] = talk.caller.get(f"/v1/logs/turns?q=caller:{turn}").json["data"]
    return found


def ended(talk: Talk, turn: str) -> Any:
    """The turn, once it is over."""
    return eventually(lambda: (told := talk.turn(turn))["status"] not in ("queued", "in_progress") and told)


def results(turn: dict[str, Any]) -> list[str]:
    called = [step for step in turn["steps"] if step["step_type"] == "tool_execution"]
    return [answer["content"] for step in called for answer in step["tool_responses"]]


def test_one_slot_is_enough_for_a_tree(start_server: Callable[..., ServerProcess]) -> None:
    caller = Caller(start_server(MAX_RUNNING="1").port)
    low = Talk(caller, name="low")
    mid = Talk(caller, name="mid", toolgroups=calling(low.agent))
    top = Talk(caller, name="top", toolgroups=calling(mid.agent))
    both = (call("low", "say One."), call("low", "say Two."))
    answer = top.say(script(call("mid", *both, "then", "say Mid."), "then", "say Top.")).json
    assert answer["output_message"]["content"] == "Top."
    assert results(answer) == ["Mid."]


def test_two_run_beside_each_other(own_server: ServerProcess, held: HeldModel) -> None:
    talk, _ = family(Caller(own_server.port))
    one, two = held.hold(), held.hold()
    turn = talk.begin(script(ask(one), ask(two), "then", "say Both."))
    eventually(lambda: one.asked and two.asked)
    two.end("Two.")
    one.end("One.")
    over = ended(talk, turn)
    assert over["output_message"]["content"] == "Both."
    assert results(over) == ["One.", "Two."]


def test_so_many_run_at_once_and_no_more(own_server: ServerProcess, held: HeldModel) -> None:
    talk, _ = family(Caller(own_server.port), max_parallel=1)
    one, two = held.hold(), held.hold()
    turn = talk.begin(script(ask(one), ask(two), "then", "say Both."))
    eventually(lambda: one.asked or two.asked)
    first, second = (one, two) if one.asked else (two, one)
    assert len(below(talk, turn)) == 1
    assert second.asked == []
    first.end("First.")
    eventually(lambda: second.asked)
    second.end("Second.")
    assert ended(talk, turn)["status"] == "completed"


def test_a_cancelled_turn_stops_what_it_has_called(own_server: ServerProcess, held: HeldModel) -> None:
    caller = Caller(own_server.port)
    talk, _ = family(caller)
    question = held.hold()
    turn = talk.begin(script(ask(question), "then", "say Never."))
    eventually(lambda: question.asked)
    question.say("Half an ans")
    assert talk.cancel(turn).json["status"] == "cancelled"
    [child] = below(talk, turn)
    assert (child["status"], child["stop_reason"]) == ("cancelled", "its caller has ended")
    assert talk.turn(turn)["steps"][1]["step_type"] == "tool_execution"
    again = talk.say(script("say Here again.")).json
    assert again["output_message"]["content"] == "Here again."
    question.end("wer.")
    assert below(talk, turn) == [child]


def test_a_called_turn_that_is_cancelled_is_a_failed_call(own_server: ServerProcess, held: HeldModel) -> None:
    caller = Caller(own_server.port)
    talk, helper = family(caller)
    question = held.hold()
    turn = talk.begin(script(ask(question), "then", "say Then without."))
    eventually(lambda: question.asked)
    [child] = below(talk, turn)
    session = f"/v1/agents/{helper.agent}/session/{child['session_id']}"
    assert caller.post(f"{session}/turn/{child['id']}/cancel").json["status"] == "cancelled"
    over = ended(talk, turn)
    assert over["output_message"]["content"] == "Then without."
    assert "helper was cancelled: cancelled by" in results(over)[0]


def test_a_turn_that_is_taken_over_finds_what_it_had_called(own_server: ServerProcess, held: HeldModel) -> None:
    talk, _ = family(Caller(own_server.port))
    question, other = held.hold(), held.hold()
    turn = talk.begin(script(ask(question), ask(other), "then", "say Told."))
    eventually(lambda: question.asked and other.asked)
    other.end("Other.")
    eventually(lambda: [child["status"] for child in below(talk, turn)].count("completed") == 1)
    own_server.kill()
    question.end()
    talk.caller.port = own_server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("The answer.")
    over = ended(talk, turn)

    assert over["output_message"]["content"] == "Told."
    assert results(over) == ["The answer.", "Other."]
    assert sorted(child["status"] for child in below(talk, turn)) == ["completed", "completed"]
    assert (len(question.asked), len(other.asked)) == (2, 1)


@pytest.mark.slow
def test_one_slot_is_enough_for_a_tree_that_is_taken_over(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server(MAX_RUNNING="1")
    talk, _ = family(Caller(server.port))
    question = held.hold()
    turn = talk.begin(script(ask(question), "then", "say Told."))
    eventually(lambda: question.asked)
    server.kill()
    question.end()
    talk.caller.port = server.start().port
    eventually(lambda: len(question.asked) == 2)
    question.end("The answer.")
    assert results(ended(talk, turn)) == ["The answer."]


@pytest.mark.slow
def test_a_turn_whose_agent_does_not_go_on_stops_what_it_has_called(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server()
    caller = Caller(server.port)
    helper = Talk(caller, name="helper", model="held/held")
    talk = Talk(caller, toolgroups=calling(helper.agent), resume_runs=False)
    question = held.hold()
    turn = talk.begin(script(ask(question), "then", "say Never."))
    eventually(lambda: question.asked)
    server.kill()
    question.end()
    talk.caller.port = server.start().port
    assert ended(talk, turn)["status"] == "interrupted"
    [child] = eventually(lambda: [one for one in below(talk, turn) if one["status"] == "cancelled"])
    assert child["stop_reason"] == "its caller has ended"


@pytest.mark.slow
def test_a_server_that_stops_lets_a_call_come_to_its_end(
    start_server: Callable[..., ServerProcess], held: HeldModel
) -> None:
    server = start_server()
    talk, _ = family(Caller(server.port))
    question = held.hold()
    turn = talk.begin(script("wait 300ms", call("helper", "say unused"), ask(question), "then", "say Told."))
    eventually(lambda: question.asked)
    question.end("The answer.")
    server.stop()
    talk.caller.port = server.start().port
    assert ended(talk, turn)["output_message"]["content"] == "Told."
