"""Lists over the socket: of all turns, an agent's, a session's, under a query; as they change and as
they changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.live.caller import Caller, Talk, script
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess
from tests.support.live.sockets import AS_HTML, events, follow_list, opened, rows, until_settled

pytestmark = pytest.mark.server


@pytest.mark.parametrize("topic", ["logs", "agent", "session"])
def test_a_list_tells_of_its_turns_alone(caller: Caller, server: ServerProcess, topic: str) -> None:
    talk, other = Talk(caller), Talk(caller)
    name = {"logs": "logs", "agent": f"agent:{talk.agent}", "session": f"session:{talk.session}"}[topic]
    with opened(server) as socket:
        follow_list(socket, name)
        theirs = other.say("Hello").json["turn_id"]
        ours = talk.say("Hello").json["turn_id"]
        seen = until_settled(socket, ours, "completed")

    assert seen.get(theirs, "gone") == ("completed" if topic == "logs" else "gone")
    assert set(seen) <= {ours, theirs}


def test_a_list_under_a_query_tells_what_comes_and_what_goes(
    caller: Caller, server: ServerProcess, held: HeldModel
) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    plain = Talk(caller)
    with opened(server) as running, opened(server) as failed:
        follow_list(running, "logs", q=f"status:in_progress agent:{talk.agent}")
        follow_list(failed, "logs", q=f"status:failed agent:{plain.agent}")
        turn = talk.begin(question.question)
        assert until_settled(running, turn, "in_progress")[turn] == "in_progress"
        question.end("Done.")
        assert until_settled(running, turn, "gone")[turn] == "gone"
        plain.say("Hello")
        lost = plain.say(script("fail 500 broken"))
        seen = until_settled(failed, lost.json["turn"]["turn_id"], "failed")

    assert [status for status in seen.values() if status != "gone"] == ["failed"]


def test_a_list_tells_of_a_deleted_turn_it_has_shown(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    with opened(server) as socket:
        follow_list(socket, f"agent:{talk.agent}")
        turn = talk.say("Hello").json["turn_id"]
        until_settled(socket, turn, "completed")
        caller.delete(talk.path)
        assert until_settled(socket, turn, "gone") == {turn: "gone"}


def test_a_list_tells_of_a_turn_deleted_since_its_page_was_rendered(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    turn = talk.say("Hello").json["turn_id"]
    with opened(server) as socket:
        follow_list(socket, f"agent:{talk.agent}", number=1)
        socket.subscribe("logs")
        cursor = socket.to_op("live")[0]["cursor"]
    caller.delete(talk.path)
    with opened(server) as socket:
        socket.subscribe("logs", after=cursor)
        assert rows(socket.to_op("live")).get(turn) == "gone"


def test_a_list_catches_up_from_its_cursor(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    with opened(server) as socket:
        socket.subscribe(f"agent:{talk.agent}")
        cursor = socket.to_op("live")[0]["cursor"]
    missed = talk.say("Hello").json["turn_id"]
    with opened(server) as socket:
        socket.subscribe(f"agent:{talk.agent}", after=cursor)
        replay = socket.to_op("live")[0]
        socket.subscribe(f"agent:{talk.agent}", after=replay["cursor"])
        nothing = socket.to_op("live")[0]

    assert rows([replay]) == {missed: "completed"}
    assert replay["cursor"] != cursor
    assert nothing["events"] == []


def test_those_who_join_while_turns_come_miss_none(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    topic = f"agent:{talk.agent}"

    def join(_: int) -> str:
        """What one who joins while a turn runs hears of it in the end."""
        with opened(server) as one, ThreadPoolExecutor(1) as aside:
            said = aside.submit(talk.aside().say, "Hello")
            one.subscribe(topic, after=first)
            turn = said.result().json["turn_id"]
            return until_settled(one, turn, "completed")[turn]

    with opened(server) as socket, ThreadPoolExecutor(8) as pool:
        socket.subscribe(topic)
        first = socket.to_op("live")[0]["cursor"]
        assert set(pool.map(join, range(48))) == {"completed"}


@pytest.mark.slow
def test_a_list_catches_up_on_much_and_says_so_when_it_is_too_much(start_server: Callable[..., ServerProcess]) -> None:
    own = start_server()
    with opened(own) as socket:
        socket.subscribe("logs")
        beginning = socket.to_op("live")[0]["cursor"]
    for turns, op in ((300, "replay"), (900, "gap")):
        own.stop()
        own.manage("demo", "--turns", str(turns))
        own.start()
        with opened(own) as socket:
            socket.subscribe("logs", after=beginning)
            first = socket.to_op("live")[0]
            assert (first["op"], len(rows([first]))) == (op, turns if op == "replay" else 0)
            socket.subscribe("logs", after=first["cursor"])
            assert rows(socket.to_op("live")) == {}


def test_a_list_sends_the_pages_own_rows(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller, name="<i>Ann</i>")
    with opened(server) as socket:
        follow_list(socket, f"agent:{talk.agent}", **AS_HTML)
        turn = talk.say("<script>alert(1)</script>").json["turn_id"]
        [event] = [one for one in events([socket.hear()]) if one["id"] == turn]

    assert event["html"].lstrip().startswith("<tr")
    assert turn in event["html"]
    assert "<script>" not in event["html"]
    assert "<i>Ann" not in event["html"]
