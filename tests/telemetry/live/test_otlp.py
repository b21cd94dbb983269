"""Reports over a real socket: in chunks, as all JavaScript senders write them; large ones; while the server
restarts."""

from __future__ import annotations

import gzip
import http.client
import json
import random
from typing import Any

import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually
from tests.telemetry.reading import reports

pytestmark = pytest.mark.server

MIB = 2**20


def body(trace: int, word: str = "turn", **more: Any) -> bytes:
    return json.dumps(reports.request(*reports.turn(trace, f"{word} {trace}", **more))).encode()


def found(server: ServerProcess, words: str) -> list[Any]:
    return list(
        Caller(server.port).get(f"/v1/logs/turns?q=source:otlp%20%22{words.replace(' ', '%20')}%22").json["data"]
    )


def send(server: ServerProcess, data: Any, **headers: str) -> tuple[int, bytes]:
    """(status, body); an iterable of pieces is sent in chunks."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    given = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST", "/v1/traces", data, given)
    answer = connection.getresponse()
    told = answer.status, answer.read()
    connection.close()
    return told


def test_a_body_in_chunks_is_read(server: ServerProcess) -> None:
    data = gzip.compress(body(101))
    pieces = iter([data[:10], data[10:11], data[11:]])
    assert send(server, pieces, Content_Encoding="gzip") == (200, b"{}")
    [turn] = eventually(lambda: found(server, "turn 101"))
    assert (turn["status"], turn["agent_name"]) == ("completed", "forecaster")


def test_a_large_report_is_taken_and_a_larger_refused(server: ServerProcess) -> None:
    assert send(server, body(102, note="x" * (12 * MIB)))[0] == 200
    assert eventually(lambda: found(server, "turn 102"))
    status, told = send(server, gzip.compress(body(103, note="x" * (21 * MIB))), Content_Encoding="gzip")
    assert (status, b"larger" in told) == (413, True)
    assert found(server, "turn 103") == []


def mangled(chance: random.Random, whole: bytes) -> bytes:
    """A report with something wrong in the middle."""
    begin, some = chance.randrange(len(whole)), chance.randrange(1, 60)
    return chance.choice(
        [
            whole[:begin],
            whole[:begin] + whole[begin + some :],
            whole[:begin] + whole[begin : begin + some] * 20 + whole[begin:],
            whole[:begin] + chance.randbytes(some) + whole[begin + some :],
        ]
    )


def test_what_is_refused_is_nowhere(server: ServerProcess) -> None:
    chance = random.Random(7)
    answers = {trace: send(server, mangled(chance, body(trace)))[0] for trace in range(200, 400)}
    assert set(answers.values()) == {200, 400}
    assert send(server, body(400))[0] == 200
    eventually(lambda: found(server, "turn 400"))
    refused = [trace for trace, status in answers.items() if status == 400]
    assert len(refused) > 50
    assert [trace for trace in refused if found(server, f"turn {trace}")] == []


def test_what_was_answered_is_there_after_a_crash(own_server: ServerProcess) -> None:
    for trace in range(9_110, 9_130):
        assert send(own_server, body(trace, "crashed"))[0] == 200
    own_server.kill()
    own_server.start(own_server.port)
    # by a word and traces of their own: other tests have reported to this server, too
    eventually(lambda: len(found(own_server, "crashed")) == 20, within_s=60)
