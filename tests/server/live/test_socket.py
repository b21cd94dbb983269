"""The socket: a turn followed from any position, and what is refused."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from tests.support.live.caller import Caller, Talk, answer_to, script, tool
from tests.support.live.held_model import HeldModel
from tests.support.live.process import ServerProcess
from tests.support.live.sockets import (
    AS_HTML,
    Message,
    events,
    follow_list,
    merged,
    numbers,
    opened,
    rows,
    text_of,
    until_settled,
)

pytestmark = pytest.mark.server


def heard_text(text: str) -> Any:
    """Whether a message ends a text with these words."""
    return lambda message: text_of(events([message])).endswith(text)


# -------------------------------------------------------------------------------------------- a turn


def test_a_turn_is_replayed_then_followed_to_its_end(caller: Caller, server: ServerProcess, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}")
        heard = socket.to_op("live")
        question.say("One ")
        heard += socket.until(heard_text("One "))
        question.end("two.")
        heard += socket.to_op("end")

    ops = [message["op"] for message in heard]
    assert ops[:2] == ["replay", "live"]
    assert set(ops[2:-1]) == {"events"}
    assert {message["id"] for message in heard} == {1}
    seen = events(heard)
    assert numbers(seen) == list(range(len(numbers(seen))))
    assert seen[0]["type"] == "turn.started"
    assert (seen[-1]["type"], seen[-1]["status"]) == ("turn.ended", "completed")
    assert text_of(seen) == talk.turn(turn)["output_message"]["content"] == "One two."


def test_a_finished_turn_is_replayed_and_ends(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    lines = ["think Hm.", "think Hm!", "say Let me ask.", 'call ask_user {"question": "?"}']
    turn = talk.say(script(*lines, "then", "say I see.")).json
    talk.answer(turn["turn_id"], answer_to(turn["output_message"]["tool_calls"][0], "Monday"))
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn['turn_id']}")
        heard = socket.to_op("end")

    ops = [message["op"] for message in heard]
    assert (ops[:2], ops[-1]) == (["replay", "live"], "end")
    assert set(ops[2:-1]) <= {"events"}  # each response that ran just now may be in the memory of another process
    seen = events(heard)
    assert text_of(seen) == "Let me ask.I see."
    assert text_of(seen, "reasoning") == "Hm.\nHm!"
    assert text_of(seen, "call") == '{"question": "?"}'
    assert numbers(seen) == list(range(len(numbers(seen))))
    assert heard[-2].get("cursor", heard[0]["cursor"]) == str(numbers(seen)[-1])


def test_a_large_replay_arrives_whole(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    large = 'call nobody {"text": "' + "x" * 100_000 + '"}'
    said = talk.say(script("repeat 40000 word", large, "then", "say Done.")).json
    with opened(server) as socket:
        socket.subscribe(f"turn:{said['turn_id']}")
        seen = events(socket.to_op("end"))
        socket.subscribe(f"turn:{said['turn_id']}", **AS_HTML)
        assert len(json.dumps(socket.to_op("end"))) > 200_000

    assert text_of(seen) == " ".join(["word"] * 40_000) + "Done."


def test_sockets_hear_the_same_wherever_they_join(caller: Caller, server: ServerProcess, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    with opened(server) as early, opened(server) as late:
        early.subscribe(f"turn:{turn}")
        for number in range(100):
            question.say(f"{number} ")
        first = early.until(heard_text("99 "))
        late.subscribe(f"turn:{turn}")
        question.end("end")
        one, other = events(first + early.to_op("end")), events(late.to_op("end"))

    assert merged(one) == merged(other)
    assert text_of(one) == " ".join(map(str, range(100))) + " end"


def test_a_reconnect_misses_and_repeats_nothing(caller: Caller, server: ServerProcess, held: HeldModel) -> None:
    talk, question = Talk(caller, model="held/held"), held.hold()
    turn = talk.begin(question.question)
    heard: list[Message] = []
    cursor = None
    for word in ("One ", "two ", "three "):
        with opened(server) as socket:  # a new socket each time, at the place of the last
            socket.subscribe(f"turn:{turn}", after=cursor)
            question.say(word)
            heard += socket.until(heard_text(word))
            cursor = heard[-1]["cursor"]
    question.end("four.")
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}", after=cursor)
        heard += socket.to_op("end")
        socket.subscribe(f"turn:{turn}")
        whole = events(socket.to_op("end"))

    assert merged(events(heard)) == merged(whole)
    cursors = [message["cursor"] for message in heard if "cursor" in message]
    for place, cursor in enumerate(cursors):
        with opened(server) as socket:
            socket.subscribe(f"turn:{turn}", after=cursor)
            before = events([message for message in heard if message.get("cursor") in cursors[: place + 1]])
            assert merged(before + events(socket.to_op("end"))) == merged(whole)


def test_a_reader_stays_over_waiting_and_resume(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    turn = talk.say(script('call ask_user {"question": "?"}', "then", "say Thanks.")).json
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn['turn_id']}")
        heard = socket.to_op("live")
        assert events(heard)[-1]["type"] == "turn.awaiting_input"
        talk.answer(turn["turn_id"], answer_to(turn["output_message"]["tool_calls"][0], "Monday"))
        heard += socket.to_op("end")

    seen = events(heard)
    assert numbers(seen) == list(range(len(numbers(seen))))
    assert [event["type"] for event in seen if event["type"].startswith("turn.")] == [
        "turn.started",
        "turn.awaiting_input",
        "turn.resumed",
        "turn.ended",
    ]


def test_a_reader_hears_that_a_waiting_turn_was_closed(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller, client_tools=[tool("ask_user", "question")])
    turn = talk.say(script('call ask_user {"question": "?"}')).json["turn_id"]
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}")
        socket.to_op("live")
        talk.say(script("say Never mind."))
        last = events(socket.to_op("end"))[-1]

    assert (last["type"], last["status"], last["reason"]) == ("turn.ended", "cancelled", "a new message came")


def test_it_carries_the_pages_own_fragments(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    turn = talk.say(script("say <b>bold</b><script>alert(1)</script>")).json["turn_id"]
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}", **AS_HTML)
        seen = events(socket.to_op("end"))

    kinds = [event["type"] for event in seen]
    assert kinds == ["turn.started", "step.started", "delta", "step.ended", "turn.ended"]
    htmls = [event["html"] for event in seen if event["type"] != "delta"]
    assert all(html.lstrip().startswith("<") for html in htmls)
    assert "<script>" not in "".join(htmls)
    assert seen[2]["text"] == "<b>bold</b><script>alert(1)</script>"


# ------------------------------------------------------------------------------------ what is refused

NOBODY = "00000000-0000-8000-8000-000000000000"


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('"subscribe"', "cannot be read"),
        ('{"op": 7}', "cannot be read"),
        ("[" * 60_000, "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        ({"op": "publish"}, "op"),
        ({"op": "subscribe"}, "topic"),
        ({"op": "subscribe", "topic": "weather"}, "topic"),
        ({"op": "subscribe", "topic": "turn:"}, "not found"),
        ({"op": "subscribe", "topic": f"turn:{NOBODY}"}, "not found"),
        ({"op": "subscribe", "topic": f"session:{NOBODY}"}, "not found"),
        ({"op": "subscribe", "topic": "agent:x y"}, "not found"),
        ({"op": "subscribe", "topic": "logs", "as": "xml"}, "as"),
        ({"op": "subscribe", "topic": "logs", "level": "planets"}, "level"),
        ({"op": "subscribe", "topic": "logs", "q": "status:("}, ""),
        ({"op": "subscribe", "topic": "logs", "after": "-1"}, "after"),
        ({"op": "subscribe", "topic": "logs", "after": "9" * 40}, "after"),
    ],
)
def test_nonsense_is_answered_and_the_socket_lives(server: ServerProcess, message: Any, word: str) -> None:
    with opened(server) as socket:
        socket.send(message if isinstance(message, str | bytes) else json.dumps(message))
        refused = socket.refusal(0)
        assert word in refused["message"]
        assert refused["type"] in {"invalid_request_error", "not_found_error"}
        follow_list(socket, "logs", number=2)


def test_a_bad_position_in_a_turn_is_refused(caller: Caller, server: ServerProcess) -> None:
    turn = Talk(caller).say("Hello").json["turn_id"]
    with opened(server) as socket:
        socket.subscribe(f"turn:{turn}", after="x")
        assert "after" in socket.refusal()["message"]


def test_a_wrong_message_ends_no_subscription(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    with opened(server) as socket:
        follow_list(socket, f"agent:{talk.agent}")
        socket.ask("publish", 2)
        assert "op" in socket.refusal(2)["message"]
        turn = talk.say("Hello").json["turn_id"]
        assert until_settled(socket, turn, "completed")


def test_unsubscribing_ends_a_subscription_alone(caller: Caller, server: ServerProcess) -> None:
    talk = Talk(caller)
    with opened(server) as socket:
        follow_list(socket, f"agent:{talk.agent}")
        socket.subscribe(f"agent:{talk.agent}", number=2)
        socket.to_op("live", number=2)
        socket.ask("unsubscribe")
        turn = talk.say("Hello").json["turn_id"]
        messages: list[Message] = []
        while rows(messages).get(turn) != "completed":
            messages.append(socket.hear())

    assert {message["id"] for message in messages} == {2}


@pytest.mark.slow
def test_subscriptions_on_one_socket_are_bounded(server: ServerProcess) -> None:
    with opened(server) as socket:
        for number in range(1, 34):
            socket.subscribe("logs", number)
            if number % 15 == 0:
                time.sleep(1)  # messages are counted by the second
        assert "32 subscriptions" in socket.until(lambda message: message["op"] == "error")[-1]["error"]["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Cookie": "sessionid=x"},
        {"Origin": "http://evil.example", "Cookie": "sessionid=x"},
        {"Host": "evil.example"},
    ],
)
def test_other_sites_pages_are_refused(server: ServerProcess, headers: dict[str, str]) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, headers):
        pass
    assert refused.value.response.status_code in {400, 403}


def test_our_own_page_is_let_in(server: ServerProcess) -> None:
    with opened(server, {"Origin": server.base, "Cookie": "sessionid=x"}) as socket:
        follow_list(socket, "logs")


def test_a_wrong_key_is_told_so(server: ServerProcess) -> None:
    with opened(server, {"Authorization": "Bearer ask_wrong"}) as socket:
        assert socket.closed() == 4401


def test_a_message_may_be_64_kib(server: ServerProcess) -> None:
    start = '{"op": "subscribe", "id": 7, "topic": "weather", "note": "'
    with opened(server) as socket:
        socket.send(start + "x" * (64 * 1024 - len(start) - 2) + '"}')
        assert "topic" in socket.refusal(7)["message"]
        socket.send(start + "x" * (64 * 1024 - len(start) - 1) + '"}')
        assert socket.closed() == 1009


def test_a_flood_is_cut_off(server: ServerProcess) -> None:
    with opened(server) as socket:
        for _ in range(19):
            socket.ask("unsubscribe")
        socket.ask("publish", 20)
        assert "op" in socket.refusal(20)["message"]
        socket.flood("unsubscribe", 60)
        assert socket.closed() == 4008
