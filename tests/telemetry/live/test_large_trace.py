"""A trace of a hundred thousand spans, of two services whose clocks are an hour apart: it becomes a turn, and others
are answered meanwhile. How long they wait is a row of `bench/` (``large-things``)."""

from __future__ import annotations

import gzip
import http.client
import json
from functools import partial
from typing import Any

import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(300)]
SPANS, OF_A_REPORT = 100_000, 4_000
LONGEST_S = 240.0


def send(server: ServerProcess, *spans: Any, host: str = "here") -> int:
    body = json.dumps(reports.request(*spans, **{"host.name": host})).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    connection.request("POST", "/v1/traces", gzip.compress(body, 1), headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def is_taken(server: ServerProcess, spans: list[Any]) -> bool:
    """Report them; False where there is too much waiting."""
    return send(server, *spans, host="there") == 200


def look(number: int) -> Any:
    """A tool that the other service ran, whose clock is slow."""
    tool: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "look"}
    return reports.span(7, number, "execute_tool look", parent=1, at=number / 128 - 3600, takes=0.0625, **tool)


def root() -> Any:
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "long"}
    return reports.span(7, 1, "invoke_agent long", takes=800.0, **agent)


def test_a_hundred_thousand_spans_are_one_turn(own_server: ServerProcess) -> None:
    caller = Caller(own_server.port)
    for first in range(2, SPANS + 1, OF_A_REPORT):
        spans = [look(number) for number in range(first, min(first + OF_A_REPORT, SPANS + 1))]
        eventually(partial(is_taken, own_server, spans), within_s=60)
    assert send(own_server, root()) == 200
    assert send(own_server, *reports.turn(8, "And me?")) == 200

    def rows() -> list[Any]:
        answer = caller.get("/v1/logs/turns?order=asc")
        assert answer.status == 200
        return list(answer.json["data"])

    def is_stored() -> bool:
        return any(row["agent_name"] == "long" and row["counts"]["steps"] == SPANS - 1 for row in rows())

    eventually(lambda: any(row["input_preview"] == "And me?" for row in rows()), within_s=30)
    eventually(is_stored, within_s=LONGEST_S, every_s=0.5)  # looks take the server's time
    [turn] = [row for row in rows() if row["agent_name"] == "long"]
    assert (turn["status"], turn["duration_ms"], turn["counts"]["errors"]) == ("completed", 800_000.0, 0)
    for path in (f"/turns/{turn['id']}/", f"/turns/{turn['id']}/?view=raw", "/logs/"):
        assert caller.get(path).status == 200
