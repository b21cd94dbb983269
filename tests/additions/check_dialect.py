"""In a copy of the project: spans of the added dialect become turns, and ``/connect/`` says how to send them."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from tests.support.inprocess import collect_static
from tests.support.pages.markup import words
from tests.telemetry.reading import reports

pytestmark = pytest.mark.django_db


def test_its_spans_become_a_turn(client: Client) -> None:
    collect_static()
    agent = reports.span(1, 1, "run", at=0, takes=2, acme__kind="agent", acme__agent__name="planner")
    model = reports.span(
        1, 2, "call", parent=1, at=0.5, takes=1, acme__kind="generation", acme__model="acme-1", acme__answer="Rome"
    )
    body = json.dumps(reports.request(agent, model))
    assert client.post("/v1/traces", body, "application/json").status_code == 200
    [turn] = client.get("/v1/logs/turns", {"q": "model:acme-1"}).json()["data"]
    assert (turn["agent_name"], turn["output_preview"]) == ("planner", "Rome")


def test_its_guide_is_on_the_page(client: Client) -> None:
    page = words(client.get("/connect/").content.decode())
    assert "Acme" in page
