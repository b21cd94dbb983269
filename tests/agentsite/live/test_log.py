"""The log of a serving process as a program reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.live.caller import Caller, Talk
from tests.support.live.process import ServerProcess, eventually

pytestmark = pytest.mark.server


def lines(server: ServerProcess, **fields: Any) -> list[dict[str, Any]]:
    """The lines that are JSON with these fields; the greeting is none."""
    found = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
    return [line for line in found if fields.items() <= line.items()]


def test_a_stream_is_one_line_when_it_has_ended(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(LOG_FORMAT="json", LOG_LEVEL="INFO")
    talk = Talk(Caller(server.port))
    with talk.saying("hello", {"X-Request-ID": "of-the-caller"}) as stream:
        frames = list(stream)
    [line] = eventually(lambda: lines(server, request_id="of-the-caller"))
    assert (line["method"], line["status"], line["route"]) == ("POST", 200, "api/turns")
    assert line["path"] == f"{talk.path}/turn"
    assert line["caller"].startswith("user ")
    assert line["turn_id"] == frames[0].payload["turn_id"]
    assert line["duration_ms"] > 0


def test_what_is_no_request_is_a_line_too(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(LOG_FORMAT="json", LOG_LEVEL="INFO")
    answer = Caller(server.port).get("/" + "x" * 20_000)
    assert answer.status == 414
    [line] = eventually(lambda: lines(server, request_id=answer.headers["x-request-id"]))
    assert "414" in line["message"]
