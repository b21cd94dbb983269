"""``/metrics``: what happens is counted, under names and labels that do not grow."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from agents.base import ids
from agents.base.metrics import exposition
from agents.base.store import readiness
from agents.base.timestamps import to_datetime
from agents.record.models.choices import TurnStatus
from agents.record.models.turns import Turn
from tests.support import metrics
from tests.support.metrics import Scrape

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


def scrape() -> Scrape:
    response = Client().get("/metrics")
    assert (response.status_code, response["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return metrics.read(response.content.decode())


def ask(path: str, body: dict[str, Any]) -> Any:
    response = Client().post(path, body, content_type="application/json")
    assert response.status_code == 200, response.content
    return response.json()


def run_turn(model: str = "scripted/fast", **config: Any) -> str:
    agent = ask("/v1/agents", {"agent_config": {"model": model, "instructions": "Be kind.", **config}})["agent_id"]
    session = ask(f"/v1/agents/{agent}/session", {"session_name": "s"})["session_id"]
    body = {"messages": [{"role": "user", "content": "Where is order 8841?"}], "stream": False}
    return str(ask(f"/v1/agents/{agent}/session/{session}/turn", body)["turn_id"])


def test_a_turn_is_counted_with_its_inferences_tools_and_tokens() -> None:
    before = scrape()
    run_turn("scripted/demo", toolgroups=["builtin::demo"])
    after = scrape()

    def grown(name: str, **labels: str) -> float:
        return after.value(f"turnlog_{name}", **labels) - before.value(f"turnlog_{name}", **labels)

    assert grown("turn_seconds_count", outcome="completed") == 1
    assert grown("inference_seconds_count", endpoint="scripted", outcome="completed") == 2
    assert grown("inference_first_token_seconds_count", endpoint="scripted") >= 1
    assert grown("tool_call_seconds_count", outcome="completed") == 1
    assert grown("tokens_total", kind="input") > 0
    assert grown("tokens_total", kind="output") > 0
    assert grown("http_requests_total", route="api/turns", status="200") == 1
    assert grown("http_request_seconds_count", route="api/sessions") == 1


def test_a_relayed_completion_is_an_inference() -> None:
    before = scrape()
    body = {"model": "scripted/fast", "messages": [{"role": "user", "content": "hello"}]}
    ask("/v1/chat/completions", body)
    grown = scrape().value("turnlog_inference_seconds_count") - before.value("turnlog_inference_seconds_count")
    assert grown == 1


def test_requests_are_counted_by_classes_of_routes_and_not_by_paths() -> None:
    for path in (
        "/healthz",
        "/v1/agents/secret-1",
        "/nothing/secret-2",
        "/v1/secret-3",
        "/logs/?q=secret-4",
        "/turns/secret-5/",
    ):
        Client().get(path)
    Client().get("/static/secret-6.css")
    found = scrape()
    assert "secret" not in str(found.samples)
    assert {"api/agents", "page/logs", "page/turns", "none", "static", "probe"} <= found.labels("route")


def test_spans_are_counted_when_they_come() -> None:
    before = scrape()
    span = {
        "traceId": "0" * 31 + "1",
        "spanId": "0" * 15 + "1",
        "name": "chat",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
    }
    ask("/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    after = scrape()
    assert after.value("turnlog_ingest_spans_total") - before.value("turnlog_ingest_spans_total") == 1
    assert {"turnlog_ingest_spans_waiting", "turnlog_ingest_lag_seconds"} <= after.names


def test_the_queue_is_told_with_the_age_of_its_first_turn() -> None:
    key = ids.parse(ids.Kind.TURN, run_turn())
    came = to_datetime(ids.now_us() - 90_000_000)
    Turn.objects.unscoped("test").filter(pk=key).update(status=TurnStatus.QUEUED, started_at=came)
    found = scrape()
    assert found.value("turnlog_turns_queued") == 1
    assert 90 <= found.value("turnlog_turns_queued_oldest_seconds") < 900


def test_a_failing_database_is_counted_and_leaves_the_other_figures() -> None:
    before = scrape()

    def refuse(*args: Any) -> Any:
        raise OperationalError("connection refused")

    readiness.forget()
    with connection.execute_wrapper(refuse):  # of this thread: over HTTP a reader would look, on its own connection
        found = metrics.read(exposition().decode())
    assert found.value("turnlog_ready") == 0
    assert "turnlog_turns_queued" not in found.names
    assert found.value("process_resident_memory_bytes") > 0
    assert scrape().value("turnlog_database_failures_total") > before.value("turnlog_database_failures_total")
