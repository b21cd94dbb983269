"""The server connects to nothing that no setting, agent or request names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.live.caller import Caller
from tests.support.live.process import eventually, running

pytestmark = [pytest.mark.server, pytest.mark.slow]

RECORDER = """
import json, os, sys

def record(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        where = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        if not isinstance(where, (str, bytes)) or event == "socket.getaddrinfo":
            with open(os.environ["RECORD"], "a") as file:
                file.write(json.dumps([event, str(where)]) + chr(10))

sys.addaudithook(record)
"""
"""Put on the path of the server and of the processes that it starts: Python itself tells of each connection. Sockets of
files have a path as their address, and lead nowhere."""


def contacts(record: Path) -> list[list[str]]:
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def use(caller: Caller) -> None:
    """All kinds of work that need no other machine."""
    agent = caller.post(
        "/v1/agents",
        {"agent_config": {"model": "scripted/demo", "instructions": "Help.", "toolgroups": ["builtin::demo"]}},
    ).json["agent_id"]
    session = caller.post(f"/v1/agents/{agent}/session", {"session_name": "at home"}).json["session_id"]
    said = {"messages": [{"role": "user", "content": "Where is order 8841?"}], "stream": False}
    assert caller.post(f"/v1/agents/{agent}/session/{session}/turn", said).status == 200
    assert caller.post("/v1/responses", {"model": "scripted/demo", "input": "Hello"}).status == 200
    span = {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331", "name": "chat", "kind": 1}
    times = {"startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000001000000000"}
    report = {"resourceSpans": [{"scopeSpans": [{"spans": [{**span, **times}]}]}]}
    assert caller.post("/v1/traces", report).status == 200
    pages = ("/", "/logs/", "/agents/", "/connect/", "/prices/", "/health/", "/docs/", "/docs/api/")
    for path in (*pages, "/v1/models", "/v1/providers", "/v1/tools", "/v1/logs/turns/stats", "/metrics"):
        assert caller.get(path).status == 200, path


def test_it_sends_nothing_home(tmp_path: Path) -> None:
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "sitecustomize.py").write_text(RECORDER)
    record = tmp_path / "contacts.txt"
    environment = {"PYTHONPATH": str(tmp_path / "recorder"), "RECORD": str(record)}
    (tmp_path / "home").mkdir()
    with running(tmp_path / "home", {**environment, "DATABASE_URL": ""}, demo=True, own_database=False) as server:
        use(Caller(server.port))
    assert contacts(record) == []

    # what a setting names is contacted, and seen here: the recorder does record
    (tmp_path / "told").mkdir()
    named = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "DATABASE_URL": ""}
    with running(tmp_path / "told", {**environment, **named}, own_database=False) as server:
        Caller(server.port).get("/v1/models")
        eventually(lambda: ["socket.connect", "('127.0.0.1', 9)"] in contacts(record))
