"""Steps of sub-agents and of agents that took a turn over belong to these: in rows, queries, groups and costs."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from agents.base.store import keys
from agents.base.timestamps import to_datetime
from agents.record.models.prices import Price
from agents.record.models.turns import Step, Turn
from agents.record.store import turn_records
from agents.telemetry.wire import otlp
from tests.support.inprocess import body_of, collect_static
from tests.telemetry.reading import captures, reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def rows(client: Client, query: str, level: str = "steps") -> list[Any]:
    answer = client.get(f"/v1/logs/{level}", {"q": query})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


def names(client: Client, query: str) -> list[tuple[str, str]]:
    return sorted((row["agent_name"], row["name"]) for row in rows(client, query))


def test_a_step_is_found_by_the_agent_that_did_it(client: Client) -> None:
    reports.send(client, *reports.delegated(1))
    of_finder = [("finder", "finder"), ("finder", "gpt-4o"), ("finder", "search")]
    assert names(client, "agent:finder") == of_finder
    assert names(client, "agent:desk type:inference") == [("desk", "gpt-4o")]
    assert names(client, "agent:!=desk") == names(client, "-agent:desk") == of_finder
    assert names(client, "turn(agent:desk) agent:finder") == of_finder
    assert names(client, "turn(agent:finder)") == []
    [tool] = rows(client, "agent:finder type:tool")
    assert names(client, f"agent:{tool['agent_id']}") == of_finder
    assert names(client, f"agent(id:{tool['agent_id']})") == of_finder


def test_turns_are_found_in_which_an_agent_did_something(client: Client) -> None:
    reports.send(client, *reports.delegated(1), *reports.delegated(2, "writer"))
    [turn] = rows(client, "step(agent:finder)", "turns")
    assert turn["agent_name"] == "desk"
    assert rows(client, "step(agent:finder tool:search status:failed)", "turns") == [turn]
    assert rows(client, "agent:finder", "turns") == []
    assert len(rows(client, "no(step)(agent:finder)", "turns")) == 1
    assert rows(client, "step(agent:writer)", "sessions") != rows(client, "step(agent:finder)", "sessions")


def test_numbers_are_those_of_the_agents_that_did_the_steps(client: Client) -> None:
    Price.objects.create(model="*", starts_at=to_datetime(0), input_nano=1000, output_nano=2000)
    reports.send(client, *reports.delegated(1))
    groups = client.get("/v1/logs/steps/stats", {"by": "agent"}).json()["groups"]
    counted = {
        group["values"][0]: (
            group["stats"]["tokens"]["total_tokens"],
            group["stats"]["tools"],
            group["stats"]["errors"],
            group["stats"]["cost_usd"],
        )
        for group in groups
    }
    assert counted == {"finder": (25, 1, 1, 3e-05), "desk": (25, 0, 0, 3e-05)}
    [facet] = client.get("/v1/logs/steps/facets", {"by": "agent"}).json()["data"]
    assert {value["value"]: value["count"] for value in facet["values"]} == {"finder": 3, "desk": 1}
    stats = client.get("/v1/logs/steps/stats", {"q": "agent:finder no(turn)(agent:finder)"}).json()["data"]
    assert (stats["steps"], stats["tools"], stats["cost_usd"]) == (3, 1, 3e-05)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_exports_name_the_agent_of_each_step(client: Client, form: str) -> None:
    reports.send(client, *reports.delegated(1))
    text = body_of(client.get("/v1/logs/steps/export", {"format": form, "q": "tool:search"})).decode()
    [row] = [json.loads(text)] if form == "jsonl" else csv.DictReader(io.StringIO(text))
    assert row["agent_name"] == "finder"


def test_whole_turns_and_their_traces_name_it_too(client: Client) -> None:
    reports.send(client, *reports.delegated(1))
    [line] = body_of(client.get("/v1/logs/turns/export", {"whole": "true"})).splitlines()
    row = json.loads(line)
    steps = {step["name"]: step.get("agent") for step in row["record"]["steps"]}
    assert (row["agent_name"], steps["search"], steps["finder"]) == ("desk", "finder", "finder")
    assert "agent" not in row["record"]["steps"][0]
    spans = otlp.spans(turn_records.read(keys.local(), Turn.objects.unscoped("test").get().pk))
    assert [span.attributes.get("gen_ai.agent.name") for span in spans] == ["desk", None, "finder", "finder", "finder"]


def test_the_list_of_steps_shows_it(client: Client) -> None:
    reports.send(client, *reports.delegated(1))
    page = client.get("/steps/", {"q": "agent:finder type:tool"}).content.decode()
    row = page.partition('<tr class="log-row')[2].partition("</tr>")[0]
    assert "finder" in row
    assert "desk" not in row


def test_a_step_changes_its_agent_when_more_is_reported(client: Client) -> None:
    root, first, below, *others = reports.delegated(1)
    reports.send(client, root, first, *others)
    assert {name for name, _ in names(client, "")} == {"desk"}
    reports.send(client, below)
    assert ("finder", "search") in names(client, "")
    assert ("desk", "search") not in names(client, "")


def test_steps_after_a_hand_off_are_those_of_the_agent_that_took_over(client: Client) -> None:
    for request in captures.requests("openai_agents__handoff"):
        answer = client.post(request["path"], json.dumps(request["body"]), content_type="application/json")
        assert answer.status_code < 300, answer.content
    [call] = rows(client, "tool:get_weather")
    assert call["agent_name"] == "Weather agent"
    [turn] = rows(client, 'step(agent:"Weather agent" tool:get_weather)', "turns")
    assert turn["agent_name"] == "Triage agent"
    assert {name for name, _ in names(client, "type:inference")} == {"Triage agent", "Weather agent"}


def test_what_a_deleted_agent_did_stays_and_is_not_its_turns(client: Client) -> None:
    reports.send(client, *reports.delegated(1))
    [tool] = rows(client, "tool:search")
    assert client.delete(f"/v1/agents/{tool['agent_id']}").status_code == 204
    [row] = rows(client, "tool:search")
    assert (row["agent_id"], row["agent_name"]) == (tool["agent_id"], "")
    assert names(client, "agent:desk type:tool") == []
    groups = client.get("/v1/logs/steps/stats", {"by": "agent"}).json()["groups"]
    assert {tuple(group["labels"]) for group in groups} == {("desk",), ("",)}
    reports.send(client, *reports.delegated(2))
    assert names(client, "agent:finder type:tool") == [("finder", "search")]


def test_an_agent_has_the_instructions_of_its_own_turn(client: Client) -> None:
    told = json.dumps([{"type": "text", "content": "Find it."}])
    own: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "finder"}
    reports.send(client, *reports.delegated(1), reports.span(2, 1, "finder", **own, gen_ai__system_instructions=told))
    [tool] = rows(client, "tool:search")
    config = client.get(f"/v1/agents/{tool['agent_id']}").json()["agent_config"]
    assert config["instructions"] == "Find it."


def test_an_agent_that_is_asked_itself_is_stored_with_its_turn_alone(client: Client) -> None:
    reports.send(client, *reports.turn(1))
    assert not Step.objects.unscoped("test").exclude(agent_id=None).exists()
    assert {name for name, _ in names(client, "agent:forecaster")} == {"forecaster"}
