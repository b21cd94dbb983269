"""A trace of two hosts whose clocks are an hour apart: its steps stand where their parents are, and take as long as
they took."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tests.support.inprocess import collect_static
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")
SERVER, CLIENT, CONSUMER = 2, 3, 5
HOUR = 3600.0


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def shop() -> list[Any]:
    """The agent that is asked: its model, a tool that calls another service, and its model again."""
    first, _, last, root = reports.turn(1)
    tool: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "weather"}
    named: dict[str, Any] = {"gen_ai__tool__call__id": "call_1", "gen_ai__tool__call__result": "18 degrees"}
    call = reports.span(1, 3, "execute_tool weather", parent=1, at=1.125, takes=0.625, **tool, **named)
    request = {
        **reports.span(1, 5, "POST", parent=3, at=1.1875, takes=0.5),
        "kind": CLIENT,
    }
    return [first, call, request, last, root]


def station(ahead: float, kind: int = SERVER, at: float = 1.25) -> list[Any]:
    """What the other service did for it, by its own clock."""
    chat: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "small"}
    words = {"gen_ai__output__messages": reports.text("assistant", "18")}
    look: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "thermometer"}
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "station"}
    at += ahead
    return [
        {**reports.span(1, 6, "POST /weather", parent=5, at=at, takes=0.375), "kind": kind},
        reports.span(1, 7, "invoke_agent station", parent=6, at=at + 0.0625, takes=0.25, **agent),
        reports.span(1, 8, "execute_tool thermometer", parent=7, at=at + 0.09375, takes=0.0625, **look),
        reports.span(1, 9, "chat small", parent=7, at=at + 0.1875, takes=0.125, **chat, **words),
    ]


def report(client: Client, spans: list[Any], service: str) -> None:
    body = json.dumps(reports.request(*spans, service__name=service)).replace("service__name", "service.name")
    answer = client.post("/v1/traces", body, content_type="application/json")
    assert answer.status_code == 200, answer.content


def rows(client: Client, of: str) -> list[Any]:
    answer = client.get(f"/v1/logs/{of}", {"order": "asc"})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


@pytest.mark.parametrize("kind", [SERVER, CONSUMER])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_clock_that_is_slow(client: Client, kind: int, is_first: bool) -> None:
    """Whatever began before it was asked for did not."""
    parts = [(shop(), "shop"), (station(-HOUR, kind), "station")]
    for spans, service in parts if is_first else parts[::-1]:
        report(client, spans, service)
    assert_sane(client)


def test_a_clock_that_is_fast(client: Client) -> None:
    """An answer that came before the call was heard did not."""
    report(client, shop(), "shop")
    report(client, station(HOUR), "station")
    assert_sane(client)


def assert_sane(client: Client) -> None:
    [turn] = rows(client, "turns")
    assert (turn["duration_ms"], turn["output_preview"]) == (3000.0, "It is 18 degrees.")
    steps = sorted(rows(client, "steps"), key=lambda step: str(step["started_at"]))
    names = ["gpt-4o", "weather", "station", "thermometer", "small", "gpt-4o"]
    assert [step["name"] for step in steps] == names
    assert [step["duration_ms"] for step in steps] == [1000.0, 625.0, 250.0, 62.5, 125.0, 1000.0]
    assert turn["started_at"] <= steps[0]["started_at"]
    page, logs = (client.get(path).content.decode() for path in (f"/turns/{turn['id']}/", "/logs/"))
    assert "Clocks differ: the times of another service were moved" in page
    assert "1 h" not in page + logs
    raw = [json.loads(line) for line in client.get(f"/turns/{turn['id']}/spans.jsonl").content.splitlines()]
    moments = [span["start_ns"] for span in raw]
    assert max(moments) - min(moments) > 3500 * reports.SECOND, "what was sent stays as it is"


def test_what_a_queue_delays_stays_where_it_was(client: Client) -> None:
    """A message may be read an hour later. The turn itself is over when its agent has answered."""
    report(client, shop(), "shop")
    report(client, station(HOUR, CONSUMER), "station")
    [turn] = rows(client, "turns")
    assert turn["duration_ms"] == 3000.0
    last = max(rows(client, "steps"), key=lambda step: str(step["started_at"]))
    assert (last["name"], last["duration_ms"]) == ("small", 125.0)
    assert last["started_at"] > turn["started_at"]
    assert "Clocks differ: a step is more than a second" in client.get(f"/turns/{turn['id']}/").content.decode()
