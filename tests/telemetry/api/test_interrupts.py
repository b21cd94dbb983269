"""A graph that asked somebody, and went on with the answer: the turn waits until the next of its thread is reported."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from agents.base.timestamps import to_us
from agents.telemetry.store.external import timeouts
from tests.support.inprocess import collect_static
from tests.telemetry.reading import captures

pytestmark = pytest.mark.usefixtures("_served", "_quiet")
DAY_US = 86_400_000_000
QUESTION = "Shall I book the flight?"


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def report(client: Client, name: str, *numbers: int) -> None:
    """Send these requests of a capture, all without a number."""
    requests = captures.requests(name)
    for request in [requests[number] for number in numbers] or requests:
        kind, body = "application/json", json.dumps(request["body"]).encode()
        if request["content_type"] == "multipart/form-data":
            kind, body = "multipart/form-data; boundary=capture", captures.multipart(request["body"])
        answer = client.post(request["path"], body, content_type=kind)
        assert answer.status_code in (200, 202), answer.content


def turns(client: Client, query: str = "") -> list[Any]:
    answer = client.get("/v1/logs/turns", {"q": query, "order": "asc"})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


def test_a_turn_waits_until_its_thread_goes_on(client: Client) -> None:
    name = "openinference_langgraph__interrupt"
    report(client, name, 0, 1, 2)
    [turn] = turns(client, "status:awaiting_input")
    assert (turn["error"], turn["output_preview"], turn["counts"]["errors"]) == (None, QUESTION, 0)
    for path in (f"/turns/{turn['id']}/", "/", "/logs/", f"/sessions/{turn['session_id']}/", "/inbox/"):
        assert client.get(path).status_code == 200, path
    report(client, name, 3, 4)
    before, after = turns(client)
    assert (before["id"], before["status"], before["output_preview"]) == (turn["id"], "completed", QUESTION)
    assert (after["status"], after["output_preview"]) == ("completed", "Booked.")
    assert after["session_id"] == turn["session_id"]
    report(client, name, 0, 1, 2)
    assert [row["status"] for row in turns(client)] == ["completed", "completed"]


def test_a_turn_that_nobody_answers_waits_as_long_as_ours_do(client: Client, settings: Any) -> None:
    """It once waited for ever, and was counted as waiting wherever that is counted."""
    settings.AWAIT_DAYS = 2
    name = "openinference_langgraph__interrupt"
    report(client, name, 0, 1, 2)
    [turn] = turns(client)
    late_us = to_us(datetime.fromisoformat(turn["completed_at"])) + 2 * DAY_US
    assert timeouts.end_unanswered_turns(late_us - 1) == 0
    assert timeouts.end_unanswered_turns(late_us + 1) == 1
    [ended] = turns(client)
    assert (ended["status"], ended["stop_reason"]) == ("cancelled", "no answer was reported")
    assert (ended["output_preview"], turns(client, "status:awaiting_input")) == (QUESTION, [])
    assert {step["status"] for step in ended["steps"]} == {step["status"] for step in turn["steps"]}
    report(client, name, 3, 4)
    before, after = turns(client)
    assert (before["status"], before["stop_reason"], after["status"]) == ("completed", turn["stop_reason"], "completed")


@pytest.mark.parametrize("order", [(3, 4, 0, 1, 2), (0, 1, 3, 4, 2), (0, 1, 2, 3, 4)])
def test_it_waits_no_more_in_whatever_order_it_is_reported(client: Client, order: tuple[int, ...]) -> None:
    report(client, "openinference_langgraph__interrupt", *order)
    assert [(row["status"], row["output_preview"]) for row in turns(client)] == [
        ("completed", QUESTION),
        ("completed", "Booked."),
    ]


def test_runs_of_langsmith_that_come_together_are_a_turn_that_waited_and_one_that_answered(client: Client) -> None:
    report(client, "langsmith__interrupt")
    rows = turns(client)
    assert [(row["agent_name"], row["status"]) for row in rows] == [("booking-agent", "completed")] * 2
    assert [row["output_preview"] for row in rows] == [QUESTION, "Booked."]
