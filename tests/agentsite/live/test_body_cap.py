"""What a server process takes from the wire: bodies above the cap, lying lengths, dripping senders.

Spoken over plain sockets: a well-behaved client would not send most of it.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.depth import deep
from tests.support.live.process import ServerProcess, first_data, running

pytestmark = pytest.mark.server

MIB = 2**20
CAP = 8 * MIB
HUGE = 100 * MIB
GROWTH = 40 * MIB
PIECE = b"x" * 65536
AGENT = json.dumps({"agent_config": {"model": "scripted/fast", "instructions": "Be brief."}}).encode()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with running(tmp_path_factory.mktemp("caps"), data=first_data()) as process:
        yield process


def resident(server: ServerProcess) -> int:
    """Bytes of memory the server's process holds."""
    assert server._process is not None  # it runs
    status = Path(f"/proc/{server._process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) * 1024


@contextmanager
def wire(server: ServerProcess) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        yield connection


def head(*lines: str, method: str = "POST", path: str = "/v1/agents") -> bytes:
    fixed = (f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json")
    return "\r\n".join((*fixed, *lines, "", "")).encode()


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """(status, body) of the first answer, read to the end of the connection or of its length."""
    data = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            data += piece
            length = re.search(rb"(?i)\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n", data, re.DOTALL)
            if length and len(data) >= length.end() + int(length[1]):
                break
    top, _, body = data.partition(b"\r\n\r\n")
    return int(top.split()[1]) if top else 0, body


def pour(connection: socket.socket, total: int, frame: bytes = b"%b") -> int:
    """Send that much until the other side has had enough; returns how much went out."""
    sent = 0
    with suppress(ConnectionError):
        while sent < total:
            connection.sendall(frame % PIECE)
            sent += len(PIECE)
    return sent


def lives(server: ServerProcess) -> bool:
    """Whether it serves others quickly."""
    began = time.monotonic()
    with wire(server) as connection:
        connection.sendall(head("Connection: close", method="GET", path="/v1/health"))
        return answer(connection)[0] == 200 and time.monotonic() - began < 15


def refused(status: int, body: bytes) -> bool:
    error = json.loads(body)
    shape = set(error) == {"error", "detail", "request_id"} and set(error["error"]) == ERROR
    return shape and status == 413 and error["error"]["code"] == "body_too_large" and "8 MiB" in error["detail"]


ERROR = {"message", "type", "code", "param", "detail"}


@pytest.mark.parametrize("path", ["/v1/agents", "/logs/", "/login/", "/nothing", "/healthz"])
def test_a_length_above_the_cap_is_refused_before_a_byte_of_it(path: str, server: ServerProcess) -> None:
    with wire(server) as connection:
        connection.sendall(head(f"Content-Length: {HUGE}", path=path))
        assert refused(*answer(connection))
        assert connection.recv(1) == b""  # and hung up


def test_100_mb_that_are_sent_anyway_cost_no_memory(server: ServerProcess) -> None:
    assert lives(server)
    before = resident(server)
    for _ in range(3):
        with wire(server) as connection:
            connection.sendall(head(f"Content-Length: {HUGE}"))
            pour(connection, HUGE)
            assert resident(server) - before < GROWTH
    assert lives(server)
    assert resident(server) - before < GROWTH


def test_100_mb_in_chunks_are_refused_as_they_come(server: ServerProcess) -> None:
    before = resident(server)
    with wire(server) as connection:
        connection.sendall(head("Transfer-Encoding: chunked"))
        chunk = b"%x\r\n%%b\r\n" % len(PIECE)
        connection.sendall((chunk % PIECE) * (CAP // len(PIECE) + 1))
        assert refused(*answer(connection))
        assert pour(connection, HUGE, chunk) < HUGE
    assert lives(server)
    assert resident(server) - before < GROWTH


def test_what_is_below_the_cap_arrives_either_way(server: ServerProcess) -> None:
    body = AGENT.replace(b"Be brief.", b"x" * (CAP - len(AGENT) - 100))
    halves = body[: len(body) // 2], body[len(body) // 2 :]
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(half), half) for half in halves) + b"0\r\n\r\n"
    for given, sent in ((f"Content-Length: {len(body)}", body), ("Transfer-Encoding: chunked", chunked)):
        with wire(server) as connection:
            connection.sendall(head(given, "Connection: close") + sent)
            assert answer(connection)[0] == 200, given


FORM = "Content-Type: multipart/form-data; boundary=x"
UPLOAD_CAP = 64 * MIB


def upload(size: int) -> bytes:
    """A form with a file of that many bytes."""
    before = b'--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--x\r\n'
    file = b'Content-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
    return before + file + b"x" * size + b"\r\n--x--\r\n"


@pytest.mark.parametrize("path", ["/v1/files", "/v1/openai/v1/files", "/v1/files?x=y"])
def test_a_file_may_be_larger_than_other_bodies(path: str, server: ServerProcess) -> None:
    body = upload(CAP + MIB)
    with wire(server) as connection:
        connection.sendall(form_head(path, f"Content-Length: {len(body)}", "Connection: close") + body)
        status, told = answer(connection)
    assert (status, size_of(told)) == (200, CAP + MIB), told


def size_of(told: bytes) -> int:
    """The bytes that an answer in chunks says a file has."""
    return int(json.loads(told[told.index(b"{") : told.rindex(b"}") + 1])["bytes"])


def test_anthropics_clients_are_told_in_their_words(server: ServerProcess) -> None:
    with wire(server) as connection:
        connection.sendall(head(f"Content-Length: {HUGE}", path="/v1/messages?beta=true"))
        status, body = answer(connection)
    error = json.loads(body)
    assert (status, {*error}, error["error"]["type"]) == (413, {"type", "error", "request_id"}, "request_too_large")


def form_head(path: str, *lines: str) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: localhost", FORM, *lines, "", "")).encode()


def test_a_file_above_its_cap_is_refused(server: ServerProcess) -> None:
    before = resident(server)
    with wire(server) as connection:
        connection.sendall(form_head("/v1/files", f"Content-Length: {UPLOAD_CAP + MIB}"))
        status, told = answer(connection)
        assert (status, "64 MiB" in json.loads(told)["detail"]) == (413, True)
    with wire(server) as connection:
        connection.sendall(form_head("/v1/files", "Transfer-Encoding: chunked"))
        chunk = b"%x\r\n%%b\r\n" % len(PIECE)
        assert pour(connection, HUGE, chunk) < HUGE
    body = upload(UPLOAD_CAP + 1)  # the form has room for a little more than the file
    with wire(server) as connection:
        connection.sendall(form_head("/v1/files", f"Content-Length: {len(body)}", "Connection: close") + body)
        status, told = answer(connection)
        assert (status, b'"param":"file"' in told) == (413, True)
    assert lives(server)
    assert resident(server) - before < GROWTH


@pytest.mark.parametrize("path", ["/v1/files/x", "/v1/%66iles", "/v1/vector_stores", "/v1/agents?/v1/files"])
def test_only_uploads_have_the_larger_cap(path: str, server: ServerProcess) -> None:
    with wire(server) as connection:
        connection.sendall(form_head(path, f"Content-Length: {CAP + 1}"))
        assert refused(*answer(connection))


def test_an_upload_that_breaks_off_is_stored_nowhere(server: ServerProcess) -> None:
    body = upload(2 * MIB)
    for _ in range(5):
        with wire(server) as connection:
            connection.sendall(form_head("/v1/files", f"Content-Length: {len(body) + 1}") + body)
    assert lives(server)
    asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    asking.request("GET", "/v1/files")
    found = json.loads(asking.getresponse().read())["data"]
    asking.close()
    assert 2 * MIB not in [one["bytes"] for one in found]


@pytest.mark.parametrize(
    "lines",
    [
        ("Content-Length: 5", "Content-Length: 6"),
        ("Content-Length: 5", "Content-Length: 5"),
        ("Content-Length: 5, 6",),
        ("Content-Length: -1",),
        ("Content-Length: +5",),
        ("Content-Length: 0x5",),
        ("Content-Length: five",),
        ("Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding: xchunked",),
        ("Content-Length : 5",),
    ],
)
def test_two_opinions_about_the_length_are_an_error(lines: tuple[str, ...], server: ServerProcess) -> None:
    """Whoever stands in front would read another one: a request could hide in the body."""
    hidden = b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with wire(server) as connection:
        connection.sendall(head(*lines) + b"hello" + hidden)
        status, body = answer(connection)
        assert status in {0, 400, 501}, body
        assert b"0.2.12" not in body


@pytest.mark.parametrize("size", ["-1", "x", "1;" + "x" * 70_000])
def test_a_chunk_that_lies_about_its_size_ends_the_connection(size: str, server: ServerProcess) -> None:
    with wire(server) as connection:
        connection.sendall(head("Transfer-Encoding: chunked") + f"{size}\r\nhello\r\n".encode())
        with suppress(ConnectionError):
            connection.sendall(b"0\r\n\r\n")
        assert answer(connection)[0] in {0, 400, 413}
    assert lives(server)


TOO_MUCH: list[tuple[str, list[str], tuple[int, str]]] = [
    ("/logs/?q=" + "x" * 17_000, [], (414, "url_too_long")),
    ("/v1/agents?x=" + "x" * 900_000, [], (414, "url_too_long")),
    ("/v1/agents", ["X-Long: " + "x" * 17_000], (431, "headers_too_large")),
    ("/v1/agents", ["X-Long: " + "x" * 900_000], (431, "headers_too_large")),
    ("/v1/agents", [f"X-{number}: x" for number in range(501)], (431, "headers_too_large")),
    ("/v1/agents", [f"X-{number}: " + "x" * 9_000 for number in range(9)], (431, "headers_too_large")),
    ("/v1/agents", ["no header"], (400, "bad_request")),
]


@pytest.mark.parametrize(("path", "lines", "expected"), TOO_MUCH)
def test_endless_heads_are_refused_in_words(
    path: str, lines: list[str], expected: tuple[int, str], server: ServerProcess
) -> None:
    with wire(server) as connection:
        connection.sendall(head(*lines, "Content-Length: 0", path=path))
        status, body = answer(connection)
        error = json.loads(body)["error"]
        assert (status, error["code"]) == expected
        assert set(error) == ERROR
        assert connection.recv(1) == b""  # and hung up
    assert lives(server)


def test_a_long_url_leaves_room_for_headers(server: ServerProcess) -> None:
    lines = ["Connection: close", "Authorization: Bearer " + "x" * 16_000]
    with wire(server) as connection:
        connection.sendall(head(*lines, method="GET", path="/v1/health?x=" + "x" * 16_000))
        assert answer(connection)[0] == 200


def test_slow_bodies_hold_up_nobody(server: ServerProcess) -> None:
    """Two hundred senders that have begun and go on byte by byte; one of them finishes."""
    before = resident(server)
    with ExitStack() as stack:
        slow = [stack.enter_context(wire(server)) for _ in range(200)]
        for connection in slow:
            connection.sendall(head(f"Content-Length: {len(AGENT)}", "Connection: close") + AGENT[:1])
        for place in range(1, 6):
            for connection in slow:
                connection.sendall(AGENT[place : place + 1])
            assert lives(server)
        slow[100].sendall(AGENT[6:])
        assert answer(slow[100])[0] == 200
    assert lives(server)
    assert resident(server) - before < GROWTH


UPGRADE = head(
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    method="GET",
    path="/ws/live",
)
LINGERS = {
    "nothing": b"",
    "half a line": b"POST /v1/ag",
    "half a head": head("X-Slow: yes")[:-2],
    "no body": head(f"Content-Length: {len(AGENT)}"),
    "half a body": head(f"Content-Length: {len(AGENT)}") + AGENT[:20],
    "a socket": UPGRADE,
}
"""What is sent, and then no more."""


@pytest.mark.parametrize("sent", LINGERS.values(), ids=LINGERS)
def test_who_lingers_holds_up_nobody(sent: bytes, server: ServerProcess) -> None:
    before, count = resident(server), deep(60, 500)
    with ExitStack() as stack:
        idle = [stack.enter_context(wire(server)) for _ in range(count)]
        for connection in idle:
            connection.sendall(sent)
        if sent is UPGRADE:
            assert all(connection.recv(12) == b"HTTP/1.1 101" for connection in idle)
        assert all(lives(server) for _ in range(5))
    assert lives(server)
    assert resident(server) - before < GROWTH


def test_a_body_that_breaks_off_is_stored_nowhere(server: ServerProcess) -> None:
    def agents() -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/v1/agents?limit=-1")
        found = json.loads(connection.getresponse().read())["data"]
        connection.close()
        return len(found)

    before = agents()
    for _ in range(20):
        with wire(server) as connection:
            connection.sendall(head(f"Content-Length: {len(AGENT) + 1}") + AGENT)
    for _ in range(20):
        with wire(server) as connection:
            connection.sendall(head("Transfer-Encoding: chunked") + b"%x\r\n%b\r\n" % (len(AGENT), AGENT))
    assert lives(server)
    assert agents() == before


@pytest.mark.parametrize(
    "line", [b"\x16\x03\x01\x02\x00\x01", b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 50]
)
def test_what_is_no_http_breaks_nothing(line: bytes, server: ServerProcess) -> None:
    with wire(server) as connection:
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        assert answer(connection)[0] in {0, 400, 505}
    assert lives(server)
