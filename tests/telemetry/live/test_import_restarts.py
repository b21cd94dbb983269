"""Imports that were accepted, and a server that is killed or stopped before they are done: the next start does
them."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import ServerProcess, eventually
from tests.telemetry.reading import reports

pytestmark = [pytest.mark.server, pytest.mark.slow]

MANY, TRACES = 12, 60


def spans(number: int) -> bytes:
    traces = range(1 + number * TRACES, 1 + (number + 1) * TRACES)
    return b"".join(json.dumps(reports.request(*reports.turn(one, at=one * 10.0))).encode() + b"\n" for one in traces)


def upload(server: ServerProcess, content: bytes) -> str:
    """The id of an accepted import."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n'
    request = urllib.request.Request(f"{server.base}/v1/imports", head + content + b"\r\n--x--\r\n")
    request.add_header("Content-Type", "multipart/form-data; boundary=x")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 202
        return str(json.load(answer)["id"])


def states(caller: Caller, imports: list[str]) -> list[Any]:
    return [caller.get(f"/v1/imports/{one}").json["state"] for one in imports]


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_what_was_accepted_is_done_after_all(own_server: ServerProcess, how: str) -> None:
    imports = [upload(own_server, spans(number)) for number in range(MANY)]
    own_server.kill() if how == "kill" else own_server.stop()
    caller = Caller(own_server.start().port)
    eventually(lambda: set(states(caller, imports)) == {"completed"}, 60)
    reported = [caller.get(f"/v1/imports/{one}").json["report"]["turns"] for one in imports]
    assert [sum(turns.values()) for turns in reported] == [TRACES] * MANY
    are_files_left = "from agents.models import ImportBlock; print(ImportBlock.objects.exists())"
    eventually(lambda: own_server.shell(are_files_left) == "False\n")
