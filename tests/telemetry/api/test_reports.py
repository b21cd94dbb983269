"""What senders with protocols of their own are told, and what becomes of what they send."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from tests.support.inprocess import collect_static

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_quiet")]


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def send(
    client: Client, path: str, body: Any, method: str = "POST", kind: str = "application/json", **headers: str
) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.generic(method, path, data, kind, headers=headers)


def turns(client: Client, q: str = "") -> list[Any]:
    return list(client.get("/v1/logs/turns", {"q": q}).json()["data"])


# ------------------------------------------------------------------------------------------ OpenAI's Agents SDK


def agents_sdk() -> list[dict[str, Any]]:
    """A run of one agent with one model call, as its exporter sends it."""
    trace = "trace_" + "1" * 32
    said = {
        "input": [{"role": "user", "content": "How warm is it?"}],
        "output": [{"role": "assistant", "content": "18 degrees."}],
    }
    model = {"type": "generation", "model": "gpt-4o", "usage": {"input_tokens": 7, "output_tokens": 3}, **said}
    times = {"started_at": "2026-11-20T10:00:00.000001+00:00", "ended_at": "2026-11-20T10:00:01.000001+00:00"}
    span = {"object": "trace.span", "trace_id": trace, "error": None, **times}
    return [
        {"object": "trace", "id": trace, "workflow_name": "Weather", "group_id": "talk-7", "metadata": None},
        {**span, "id": "span_" + "2" * 24, "parent_id": "span_" + "1" * 24, "span_data": model},
        {
            **span,
            "id": "span_" + "1" * 24,
            "parent_id": None,
            "span_data": {"type": "agent", "name": "forecaster", "tools": []},
        },
    ]


def test_the_agents_sdk_reports_a_turn(client: Client) -> None:
    answer = send(client, "/v1/traces/ingest", {"data": agents_sdk()})
    assert (answer.status_code, answer.content) == (204, b"")
    [turn] = turns(client, "source:openai_agents")
    assert (turn["agent_name"], turn["session_name"], turn["output_preview"]) == ("forecaster", "talk-7", "18 degrees.")
    assert turn["usage"]["input_tokens"] == 7


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", {}, {"data": 1}, {"data": [1]}, {"data": [{"object": "trace.span"}]}]
)
def test_what_is_no_report_of_it_is_refused(client: Client, body: Any) -> None:
    answer = send(client, "/v1/traces/ingest", body)
    assert answer.status_code == 400 if body != b"" else answer.status_code in (400, 415)
    assert answer.json()["error"]["message"]
    assert turns(client) == []


# ------------------------------------------------------------------------------------------ LangSmith

RUN = "01234567-89ab-7def-8123-456789abcdef"


def langsmith_run() -> dict[str, Any]:
    """A run of a graph when it begins."""
    return {
        "id": RUN,
        "trace_id": RUN,
        "name": "forecaster",
        "run_type": "chain",
        "start_time": "2026-11-20T10:00:00.000001+00:00",
        "inputs": {"messages": [{"role": "user", "content": "How warm is it?"}]},
        "extra": {"metadata": {"thread_id": "talk-8"}},
    }


ENDED = {
    "end_time": "2026-11-20T10:00:01.000001+00:00",
    "outputs": {"messages": [{"role": "assistant", "content": "18 degrees."}]},
}


def test_langsmith_clients_are_told_what_they_may_send(client: Client) -> None:
    told = client.get("/langsmith/info").json()
    assert told["batch_ingest_config"]["use_multipart_endpoint"] is True


def test_a_run_is_posted_and_patched(client: Client) -> None:
    assert send(client, "/langsmith/runs", langsmith_run()).status_code == 202
    [running] = turns(client)
    assert (running["status"], running["source"], running["session_name"]) == ("in_progress", "langsmith", "talk-8")
    assert send(client, f"/langsmith/runs/{RUN}", ENDED, "PATCH").status_code == 202
    [done] = turns(client)
    assert (done["id"], done["status"], done["duration_ms"]) == (running["id"], "completed", 1000.0)


def test_runs_come_in_batches(client: Client) -> None:
    body = {"post": [langsmith_run()], "patch": [{"id": RUN, "trace_id": RUN, **ENDED}]}
    assert send(client, "/langsmith/runs/batch", body).status_code == 202
    assert [turn["status"] for turn in turns(client)] == ["completed"]


def test_runs_come_in_parts(client: Client) -> None:
    parts = {
        f"post.{RUN}": langsmith_run(),
        f"post.{RUN}.outputs": ENDED["outputs"],
        f"patch.{RUN}": {"trace_id": RUN, **ENDED},
    }
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%b"\r\nContent-Type: application/json\r\n\r\n%b\r\n'
        % (name.encode(), json.dumps(part).encode())
        for name, part in parts.items()
    )
    answer = send(client, "/langsmith/runs/multipart", body + b"--b--\r\n", kind="multipart/form-data; boundary=b")
    assert answer.status_code == 202
    assert [turn["status"] for turn in turns(client)] == ["completed"]


@pytest.mark.parametrize(
    ("path", "body", "kind", "status"),
    [
        ("runs", b"[", "application/json", 400),
        ("runs", b"{}", "text/plain", 415),
        ("runs/batch", {"runs": []}, "application/json", 400),
        ("runs/multipart", b"x", "application/json", 415),
        ("runs/multipart", b"x", "multipart/form-data; boundary=b", 400),
        ("runs/multipart", b"x", "multipart/form-data", 400),
    ],
)
def test_what_is_no_run_is_refused(client: Client, path: str, body: Any, kind: str, status: int) -> None:
    assert send(client, f"/langsmith/{path}", body, kind=kind).status_code == status
    assert turns(client) == []


# ------------------------------------------------------------------------------------------ keys


@pytest.mark.parametrize(
    "path", ["/v1/traces/ingest", "/langsmith/runs", "/langsmith/runs/batch", "/api/public/otel/v1/traces"]
)
def test_they_need_a_key_that_may(client: Client, path: str, settings: Any, make_user: Callable[..., Actor]) -> None:
    settings.REQUIRE_LOGIN = True
    assert send(client, path, {}).status_code == 401
    _, reading = keys.create(make_user("reader"), name="reading", actions=["read"])
    assert send(client, path, {}, **{"x-api-key": reading}).status_code == 403


# ------------------------------------------------------------------------------------------ read by the Agents API


def read_back(client: Client, turn: dict[str, Any]) -> Any:
    path = f"/v1/agents/{turn['agent_id']}/session/{turn['session_id']}/turn/{turn['id']}"
    answer = client.get(path)
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_calls_of_an_mcp_server_are_read_back(client: Client) -> None:
    first, model, agent = agents_sdk()
    tool = {"type": "function", "name": "look", "input": "{}", "output": "seen", "mcp_data": {"server": "eyes"}}
    calls = [{**model, "id": "span_" + digit * 24, "span_data": tool} for digit in "34"]
    send(client, "/v1/traces/ingest", {"data": [first, model, *calls, agent]})
    [turn] = turns(client)
    assert [step["step_type"] for step in read_back(client, turn)["steps"]].count("tool_execution") >= 1
    session = f"/v1/agents/{turn['agent_id']}/session/{turn['session_id']}"
    assert client.get(session).status_code == 200


def test_a_conversation_that_changed_hands_is_read_by_either_agent(client: Client) -> None:
    for number, name in (("1", "one"), ("2", "two")):
        given = json.loads(json.dumps(agents_sdk()).replace("1" * 32, number * 32).replace("forecaster", name))
        send(client, "/v1/traces/ingest", {"data": given})
    found = turns(client)
    assert {turn["agent_name"] for turn in found} == {"one", "two"}
    assert len({turn["session_id"] for turn in found}) == 1
    for turn in found:
        assert read_back(client, turn)["turn_id"] == turn["id"]
