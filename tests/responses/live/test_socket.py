"""OpenAI's Responses API over a WebSocket: with OpenAI's client, and by its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from openai import OpenAI
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.live.caller import script
from tests.support.live.held_model import HeldModel
from tests.support.live.openai_api import MODEL, function, said
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.response_socket import Socket, opened, text

pytestmark = pytest.mark.server


@pytest.fixture
def socket(server: ServerProcess) -> Iterator[Socket]:
    with opened(server) as made:
        yield made


# ------------------------------------------------------------------------------------- OpenAI's client


@pytest.mark.filterwarnings(
    "ignore:connect.. must be used as a context manager"
)  # how OpenAI's client uses its library
def test_openais_client_has_two_responses_on_one_socket(openai_client: OpenAI) -> None:
    with openai_client.responses.connect() as connection:
        for words in ("One.", "Two."):
            connection.response.create(model=MODEL, input=script(f"say {words}"))
            events: list[Any] = []
            for event in connection:
                events.append(event)
                if event.type == "response.completed":
                    break
            assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
            assert events[-1].response.output_text == words
            assert openai_client.responses.retrieve(events[-1].response.id) == events[-1].response


# -------------------------------------------------------------------------------------------- events


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/openai/v1/responses"])
def test_the_events_are_those_of_a_stream(server: ServerProcess, openai_client: OpenAI, path: str) -> None:
    body: Any = {"model": MODEL, "input": script("think Hm.", "say It is ok."), "store": False}
    streamed = [event.to_dict() for event in openai_client.responses.create(**body, stream=True)]
    with opened(server, path) as socket:
        socket.send(**body)
        heard = [socket.next() for _ in streamed]
    assert [one["type"] for one in heard] == [one["type"] for one in streamed]
    assert [one["sequence_number"] for one in heard] == list(range(len(heard)))
    assert [set(one) for one in heard] == [set(one) for one in streamed]
    assert text(heard[-1]["response"]) == "It is ok."


def test_what_has_no_meaning_here_is_left_aside(socket: Socket) -> None:
    """Codex says `stream`, which others may not."""
    assert text(socket.response(input=script("say Ok."), stream=True, background=False, stream_options={})) == "Ok."


def test_a_long_answer_comes_whole(socket: Socket) -> None:
    answer = text(socket.response(input=script("repeat 30000 word")))
    assert answer == " ".join(["word"] * 30_000)


def test_a_long_question_is_taken(socket: Socket) -> None:
    assert socket.response(input="long " * 100_000)["status"] == "completed"


# ---------------------------------------------------------------------------------------- going on


def test_what_is_not_stored_is_gone_on_from(socket: Socket) -> None:
    look: Any = function("look", "at")
    first = socket.response(input=script('call look {"at": "it"}', "then", "say Seen."), tools=[look], store=False)
    [call] = first["output"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a cat"}
    second = socket.response(input=[output], tools=[look], store=False, previous_response_id=first["id"])
    assert (text(second), second["previous_response_id"]) == ("Seen.", first["id"])


def test_the_model_sees_all_that_was_said(socket: Socket, held: HeldModel) -> None:
    question = held.hold()
    first = socket.response(input=[said("First."), said("Second.")], store=False)
    socket.send(
        model="held/held", input=question.question, store=False, previous_response_id=first["id"], instructions="Now."
    )
    question.end("Yes.")
    while socket.next()["type"] != "response.completed":
        pass
    sent = [(one["role"], one["content"]) for one in question.asked[0]]
    assert sent == [
        ("system", "Now."),
        ("user", "First."),
        ("user", "Second."),
        ("assistant", text(first)),
        ("user", question.question),
    ]


def test_a_warm_up_calls_no_model_and_is_gone_on_from(socket: Socket) -> None:
    warm = socket.response(input=[said("Be brief.", "developer")], generate=False, store=False)
    assert (warm["status"], warm["output"]) == ("completed", [])
    empty = socket.response(input=[], generate=False, store=False, previous_response_id=warm["id"])
    done = socket.response(input=script("say Ok."), store=False, previous_response_id=empty["id"])
    assert text(done) == "Ok."


def test_a_stored_response_may_go_on_from_one_that_is_not_and_back(socket: Socket, openai_client: OpenAI) -> None:
    first = socket.response(input=script("say One."), store=False)
    second = socket.response(input=script("say Two."), previous_response_id=first["id"])
    third = socket.response(input=script("say Three."), store=False, previous_response_id=second["id"])
    fourth = socket.response(input=script("say Four."), previous_response_id=third["id"])
    items: Any = openai_client.responses.input_items.list(fourth["id"], order="asc", limit=50)
    words = [item.content[0].text for item in items if item.type == "message"]
    assert [word for word in words if not word.startswith("!script")] == ["One.", "Two.", "Three."]


def test_another_socket_knows_nothing_of_it(server: ServerProcess, socket: Socket) -> None:
    first = socket.response(input=script("say One."), store=False)
    with opened(server) as other:
        error = other.error(input="And?", store=False, previous_response_id=first["id"])
        assert (error["status"], error["error"]["code"]) == (400, "previous_response_not_found")
        assert error["error"]["param"] == "previous_response_id"
        assert text(other.response(input=script("say Fresh."), store=False)) == "Fresh."


@pytest.mark.parametrize("store", [True, False])
def test_an_unknown_response_is_not_found(socket: Socket, store: bool) -> None:
    error = socket.error(input="Hello", store=store, previous_response_id="resp_0123")
    assert error["error"]["code"] == "previous_response_not_found"
    assert error["error"]["message"] == "Previous response with id 'resp_0123' not found."


def test_after_a_request_that_fails_what_it_went_on_from_is_forgotten(socket: Socket) -> None:
    first = socket.response(input=script("say One."), store=False)
    orphan = {"type": "function_call_output", "call_id": "call_x", "output": "x"}
    error = socket.error(input=[orphan], store=False, previous_response_id=first["id"])
    assert error["error"]["code"] == "unknown_call_id"
    error = socket.error(input="And?", store=False, previous_response_id=first["id"])
    assert error["error"]["code"] == "previous_response_not_found"


# --------------------------------------------------------------------------------------------- lanes


def test_lanes_are_worked_on_at_the_same_time_and_each_in_order(socket: Socket, held: HeldModel) -> None:
    slow = held.hold()
    socket.send(model="held/held", input=slow.question, stream_id="slow", store=False)
    socket.send(input=script("say After."), stream_id="slow", store=False)
    quick = socket.response(input=script("say Quick."), stream_id="quick", store=False)
    assert text(quick) == "Quick."
    slow.end("Slow.")
    ends: list[str] = []
    while len(ends) < 2:
        message = socket.next()
        assert message["stream_id"] == "slow"
        if message["type"] == "response.completed":
            ends.append(text(message["response"]))
    assert ends == ["Slow.", "After."]


def test_requests_without_a_lane_are_worked_on_in_order(socket: Socket) -> None:
    for number in range(5):
        socket.send(input=script(f"say {number}."), store=False)
    ends: list[str] = []
    while len(ends) < 5:
        message = socket.next()
        assert "stream_id" not in message
        if message["type"] == "response.completed":
            ends.append(text(message["response"]))
    assert ends == [f"{number}." for number in range(5)]


def test_a_socket_has_so_many_lanes(socket: Socket) -> None:
    for number in range(32):
        socket.response(input="x", generate=False, stream_id=f"lane{number}")
    error = socket.error(input="x", stream_id="one.more")
    assert error["error"]["code"] == "websocket_stream_limit_reached"
    assert socket.response(input="x", generate=False, stream_id="lane0")["status"] == "completed"


# ----------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", "invalid_json"),
        ("nonsense", "invalid_json"),
        ("[" * 10_000, "invalid_json"),
        ("[]", "invalid_event"),
        ("{}", "invalid_event"),
        ('{"type": "response.nonsense"}', "invalid_event"),
        (b"bytes", "invalid_event"),
        ('{"type": "response.create", "stream_id": 7}', "invalid_stream_id"),
        ('{"type": "response.create", "stream_id": "has blanks"}', "invalid_stream_id"),
        ('{"type": "response.create", "stream_id": "' + "x" * 257 + '"}', "invalid_stream_id"),
        ('{"type": "response.create"}', "invalid_request_error"),
        ('{"type": "response.create", "model": "scripted/fast", "input": []}', "invalid_request_error"),
        ('{"type": "response.create", "model": "scripted/fast", "input": "x", "conversation": 7}', None),
        ('{"type": "response.create", "model": "nobody/here", "input": "x"}', None),
    ],
)
def test_what_is_wrong_is_told_and_the_socket_stays(socket: Socket, message: Any, code: str | None) -> None:
    socket.connection.send(message)
    told = socket.next()
    assert told["type"] in ("error", "response.created"), told
    if code is not None:
        assert (told["status"], told["error"]["code"]) == (400, code)
        assert text(socket.response(input=script("say Still here."))) == "Still here."


def test_a_client_that_is_fast_is_answered(socket: Socket) -> None:
    """More than fifty requests a second, on most machines."""
    for _ in range(300):
        assert socket.response(input=[], generate=False, store=False)["status"] == "completed"


def test_a_flood_closes_the_socket(socket: Socket) -> None:
    def flood() -> None:
        for _ in range(1_000):
            socket.connection.send("{}")
        while True:
            socket.next()

    with pytest.raises(ConnectionClosed) as closed:
        flood()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1008, "Too many messages.")


def test_a_model_that_fails_fails_the_response(socket: Socket) -> None:
    assert socket.response(input=script("fail 500 out of order"))["status"] == "failed"
    assert text(socket.response(input=script("say Ok."))) == "Ok."


def heard_until_closed(socket: Socket, **fields: Any) -> tuple[list[dict[str, Any]], int | None]:
    """What a request is answered with, and the code that the socket is closed with: of a client that is still sending
    then, and may be cut off before it reads why, neither."""
    heard: list[dict[str, Any]] = []
    with suppress(ConnectionClosed):  # what it was told before can still be read
        socket.send(**fields)
    try:
        while True:
            heard.append(socket.next())
    except ConnectionClosed as closed:
        return heard, closed.rcvd.code if closed.rcvd else None


def test_a_message_larger_than_a_body_is_told_so_and_closes_the_socket(server: ServerProcess, socket: Socket) -> None:
    heard, code = heard_until_closed(socket, input="x" * (9 * 1024 * 1024))
    codes = [error["error"]["code"] for error in heard]
    # a client that is still sending may lose the connection before it has read why
    assert codes in (["body_too_large"], [])
    assert code in (1009, None)
    with opened(server) as other:
        assert text(other.response(input=script("say Ok."))) == "Ok."


@pytest.mark.parametrize("path", ["/", "/nope", "/v1/agents", "/v1/responses/", "/v1/responses/resp_1", "/ws/nope"])
def test_elsewhere_there_is_no_socket(server: ServerProcess, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, path):
        pass
    assert refused.value.response.status_code == 404


def test_a_key_that_is_none_opens_nothing(server: ServerProcess) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, Authorization="Bearer ask_nonsense"):
        pass
    assert refused.value.response.status_code == 401


def test_who_is_nobody_opens_nothing(start_server: Callable[..., ServerProcess]) -> None:
    locked = start_server(REQUIRE_LOGIN="1")
    with pytest.raises(InvalidStatus) as refused, opened(locked):
        pass
    assert (refused.value.response.status_code, refused.value.response.reason_phrase) == (401, "Unauthorized")


def test_a_page_of_another_site_opens_nothing(server: ServerProcess) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server, Origin="https://elsewhere.example"):
        pass
    assert refused.value.response.status_code == 403


# ------------------------------------------------------------------------------------------ hanging up


def test_a_stored_one_goes_on(server: ServerProcess, openai_client: OpenAI, held: HeldModel) -> None:
    question = held.hold()
    with opened(server) as socket:
        socket.send(model="held/held", input=question.question)
        name = socket.next()["response"]["id"]
        eventually(lambda: question.asked)
    question.end("Done.")
    eventually(lambda: openai_client.responses.retrieve(name).status == "completed")
