"""Each request has an id, its own where it brings one, and a line in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.mark.parametrize("brought", ["abc", "1-67c0a5e1-1f0b3c", "Root=1-67c0:a_b+c/d.e", "x" * 128])
@pytest.mark.parametrize("path", ["/v1/health", "/logs/", "/healthz", "/nothing", "/static/nothing.css"])
def test_an_id_that_a_request_brings_is_answered(brought: str, path: str) -> None:
    assert Client().get(path, headers={"X-Request-ID": brought})["x-request-id"] == brought


@pytest.mark.parametrize("brought", ["", "x" * 129, "a b", "-a", "a;b", "<b>", "ü", "a\x00"])
def test_one_that_could_spoil_a_log_is_replaced(brought: str) -> None:
    response = Client().get("/v1/agents/nothing", headers={"X-Request-ID": brought})
    assert len(response["x-request-id"]) == 16
    assert response.json()["request_id"] == response["x-request-id"]


def lines(caplog: pytest.LogCaptureFixture, level: int = logging.INFO) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "agentsite.request_log" and record.levelno >= level]


def test_a_request_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="agentsite.request_log"):
        Client().get("/v1/agents?secret=of-people", headers={"X-Request-ID": "r-1"})
    [line] = lines(caplog)
    told: dict[str, Any] = line.fields  # type: ignore[attr-defined]  # ours
    assert told.pop("duration_ms") >= 0
    assert told == {"method": "GET", "path": "/v1/agents", "status": 200, "route": "api/agents"}
    assert line.getMessage().startswith("GET /v1/agents 200 ")
    assert " request_id=r-1 caller=" in line.getMessage()
    assert "of-people" not in line.getMessage()


def test_a_path_begins_no_line_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="agentsite.request_log"):
        Client().get("/x%0A2026-01-01%20ERROR%20forged")
        Client().get("/" + "y" * 5000)
    first, second = (line.getMessage() for line in lines(caplog))
    assert "\n" not in first
    assert len(second) < 700


def test_probes_are_told_only_to_who_wants_all(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="agentsite.request_log"):
        for path in ("/healthz", "/readyz", "/metrics"):
            Client().get(path)
    assert lines(caplog) == []
    assert len(lines(caplog, logging.DEBUG)) == 3


def test_the_line_of_a_turn_has_its_id_and_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    client, kind = Client(headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"}), "application/json"
    config = {"agent_config": {"model": "scripted/fast", "instructions": ""}}
    agent = client.post("/v1/agents", config, kind).json()["agent_id"]
    session = client.post(f"/v1/agents/{agent}/session", {"session_name": "s"}, kind).json()["session_id"]
    with caplog.at_level(logging.INFO, logger="agentsite.request_log"):
        body = {"messages": [{"role": "user", "content": "hello"}], "stream": False}
        turn = client.post(f"/v1/agents/{agent}/session/{session}/turn", body, kind).json()["turn_id"]
    [line] = lines(caplog)
    assert f"turn_id={turn}" in line.getMessage()
    assert f"trace_id={trace}" in line.getMessage()
