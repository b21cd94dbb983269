"""In a copy of the project: a step of the added type ``planning``, wherever steps are."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from agents.base import ids
from agents.base.store import keys
from agents.record.schemas import events
from agents.record.schemas.events import StepEnded, StepStarted
from tests.loop.play import events as events_of
from tests.support.builders import Recorded, make_turn, record
from tests.support.inprocess import body_of
from tests.support.pages.markup import words


@pytest.fixture
def turn(_served: None) -> Recorded:
    """A turn that planned before it ended."""
    made = make_turn(keys.local(), upto=-1)
    last = events_of(made.entries)[-1]
    step: dict[str, Any] = {"step": ids.new_key(), "at": last.at, "step_type": "planning", "name": "the day"}
    detail = events.DETAILS["planning"](tasks=["buy a kettle", "boil water"])
    record(
        made.leg,
        [
            StepStarted(seq=last.seq, number=1, round=0, **step),
            StepEnded(seq=last.seq + 1, started_at=last.at, detail=detail, **step),
            last.model_copy(update={"seq": last.seq + 2}),
        ],
    )
    return made


def listed(client: Client, level: str, query: str) -> list[dict[str, Any]]:
    answer = client.get(f"/v1/logs/{level}", {"q": query})
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


def test_it_is_listed_and_found(client: Client, turn: Recorded) -> None:
    [row] = listed(client, "steps", "type:planning")
    assert row["type"] == "planning"
    assert "buy a kettle" in row["output_preview"]
    assert listed(client, "steps", "kettle") == [row]
    assert [row["id"] for row in listed(client, "turns", "step(type:planning kettle)")] == [turn.public_id]
    facets = client.get("/v1/logs/turns/facets", {"by": "type"}).json()["data"][0]["values"]
    assert {"value": "planning", "label": "planning", "count": 1} in facets


def test_the_pages_show_it(client: Client, turn: Recorded) -> None:
    page = words(client.get(f"/turns/{turn.public_id}/").content.decode())
    assert "Planned" in page
    assert "buy a kettle; boil water" in page
    assert "plan" in words(client.get("/steps/").content.decode())


def test_the_agents_api_leaves_it_out(client: Client, turn: Recorded) -> None:
    path = (
        f"/v1/agents/{ids.public(ids.Kind.AGENT, turn.agent.key)}/session/{ids.public(ids.Kind.SESSION, turn.session)}"
    )
    answer = client.get(f"{path}/turn/{turn.public_id}")
    assert [step["step_type"] for step in answer.json()["steps"]] == ["inference"]


def test_it_is_exported(client: Client, turn: Recorded) -> None:
    for query in ({"format": "otlp"}, {"whole": "true"}):
        assert b"buy a kettle" in body_of(client.get("/v1/logs/turns/export", query))
