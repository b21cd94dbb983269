"""How a socket ends that the server closes: with a word about what is left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed

from tests.support.live.caller import Caller
from tests.support.live.held_model import Held, HeldModel
from tests.support.live.openai_api import text as text_of
from tests.support.live.process import ServerProcess, eventually
from tests.support.live.response_socket import Socket, opened, text

pytestmark = pytest.mark.server

HELD = "held/held"
MEBIBYTE = 1024 * 1024


@pytest.fixture
def socket(server: ServerProcess) -> Iterator[Socket]:
    with opened(server) as made:
        yield made


def close_code(socket: Socket) -> int | None:
    with pytest.raises(ConnectionClosed) as closed:
        socket.next()
    return closed.value.rcvd.code if closed.value.rcvd else None


def begun(socket: Socket, question: Held, lane: str, *, store: bool) -> str:
    """The id of a response whose model is being asked."""
    socket.send(model=HELD, input=question.question, stream_id=lane, store=store)
    name = str(socket.until("response.created")[-1]["response"]["id"])
    eventually(lambda: question.asked)
    return name


def test_a_message_that_becomes_too_large_piece_by_piece_is_told_so(socket: Socket) -> None:
    """The limit counts before all has come, so that a client of a slow line is told early."""

    def pieces() -> Iterator[str]:
        for _ in range(9):
            yield "x" * MEBIBYTE

    socket.connection.send(pieces())
    error = socket.next()
    assert error["type"] == "error"
    assert (error["status"], error["error"]["code"]) == (413, "body_too_large")
    assert error["error"]["type"] == "invalid_request_error"
    assert error["error"]["message"] == "The message is larger than 8 MiB."
    assert close_code(socket) == 1009


def test_a_server_that_stops_tells_what_becomes_of_each_response(own_server: ServerProcess, held: HeldModel) -> None:
    caller, stored, unstored = Caller(own_server.port), held.hold(), held.hold()
    with opened(own_server) as socket:
        kept = begun(socket, stored, "kept", store=True)
        lost = begun(socket, unstored, "lost", store=False)
        socket.send(input="Later.", stream_id="kept")
        own_server.terminate()
        eventually(lambda: not own_server.is_ready())
        told = [message for message in socket.until("error")] + socket.until("error") + socket.until("error")
        errors = [message for message in told if message["type"] == "error"]
        assert {(error["status"], error["error"]["code"]) for error in errors} == {(503, "server_stopping")}
        messages = [(error["stream_id"], error["error"]["message"]) for error in errors]
        assert ("kept", f"The server stops. Response '{kept}' goes on without you: read it by its id.") in messages
        assert ("lost", f"The server stops. Response '{lost}' is not stored, and ends: ask again.") in messages
        assert [lane for lane, _ in messages] == ["kept", "lost", "kept"]
        assert close_code(socket) == 1012
    assert own_server.wait() == 0

    for question in (stored, unstored):
        question.end()  # what nobody hears any more
    caller.port = own_server.start().port
    eventually(lambda: len(stored.asked) == 2)
    stored.end("Done.")
    eventually(lambda: text_of(caller.get(f"/v1/responses/{kept}").json) == "Done.")
    assert len(unstored.asked) == 1


def test_an_idle_socket_is_closed_without_a_word(own_server: ServerProcess) -> None:
    with opened(own_server) as socket:
        assert text(socket.response(input="Hello")) != ""
        own_server.terminate()
        assert close_code(socket) == 1012
    assert own_server.wait() == 0
