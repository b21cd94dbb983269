"""Reports that contradict each other, and values that change their type from span to span."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from django.test import Client

from tests.support.inprocess import collect_static
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def rows(client: Client, of: str) -> list[Any]:
    answer = client.get(f"/v1/logs/{of}", {"order": "asc"})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


def raw(client: Client, turn: str) -> list[Any]:
    """All that was sent of a turn, report by report."""
    return [json.loads(line) for line in client.get(f"/turns/{turn}/spans.jsonl").content.splitlines()]


def assert_pages_are_well(client: Client, turn: Any) -> None:
    for path in (f"/turns/{turn['id']}/", f"/turns/{turn['id']}/?view=raw", "/logs/", "/", "/connect/"):
        assert client.get(path).status_code == 200, path
    whole = client.get(f"/v1/agents/{turn['agent_id']}/session/{turn['session_id']}/turn/{turn['id']}")
    assert whole.json()["turn_id"] == turn["id"]


# ------------------------------------------------------------------------------------------ one call

AGENT: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "forecaster"}
CHAT: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__response__id": "msg_1"}
ROOT = reports.span(1, 1, "invoke_agent", takes=9, **AGENT)
RICH = reports.span(
    *(1, 2, "chat"),
    parent=1,
    at=1,
    takes=3,
    **CHAT,
    gen_ai__request__model="large",
    gen_ai__input__messages=reports.text("user", "How warm?"),
    gen_ai__output__messages=reports.text("assistant", "18 degrees."),
    gen_ai__usage__input_tokens=7,
    gen_ai__usage__output_tokens=1,
)
POOR = reports.span(
    *(1, 3, "POST /v1/messages"),
    parent=1,
    at=1.5,
    takes=1,
    **CHAT,
    gen_ai__request__model="small",
    gen_ai__output__messages=reports.text("assistant", "It is twenty."),
    gen_ai__usage__input_tokens=30,
    gen_ai__usage__output_tokens=5,
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_two_spans_about_one_call_the_richer_is_believed(client: Client, order: tuple[int, ...]) -> None:
    """The one with more of the words; tokens are those of the larger count. It counts once, and both are kept."""
    for position in order:
        reports.send(client, (ROOT, RICH, POOR)[position])
    [turn] = rows(client, "turns")
    assert (turn["input_preview"], turn["output_preview"], turn["model"]) == ("How warm?", "18 degrees.", "large")
    assert (turn["usage"]["input_tokens"], turn["usage"]["output_tokens"]) == (30, 5)
    steps = {step["type"]: step for step in rows(client, "steps")}
    assert {kind: step["model"] for kind, step in steps.items()} == {"inference": "large", "other": ""}
    told = {span["id"]: span["attributes"] for span in raw(client, turn["id"])}
    assert (told[RICH["spanId"]]["gen_ai.usage.input_tokens"], told[POOR["spanId"]]["gen_ai.request.model"]) == (
        7,
        "small",
    )
    assert "It is twenty." in str(told)
    assert_pages_are_well(client, turn)


@pytest.mark.parametrize("is_first", [True, False])
def test_two_reports_of_one_span_are_united_to_the_fuller_and_both_kept(client: Client, is_first: bool) -> None:
    other = {**POOR, "spanId": RICH["spanId"]}
    for spans in ([ROOT, RICH], [other]) if is_first else ([other], [ROOT, RICH]):
        reports.send(client, *spans)
    [turn] = rows(client, "turns")
    [step] = rows(client, "steps")
    assert (turn["input_preview"], turn["output_preview"]) == ("How warm?", "It is twenty.")
    assert (step["duration_ms"], step["usage"]["input_tokens"]) == (3000.0, 30)
    tokens = [span["attributes"].get("gen_ai.usage.input_tokens") for span in raw(client, turn["id"])]
    assert sorted(filter(None, tokens)) == [7, 30]
    assert_pages_are_well(client, turn)


# ------------------------------------------------------------------------------------------ one attribute

LISTED = {"arrayValue": {"values": [{"stringValue": "gpt-4o"}, {"intValue": "4"}, {}]}}
OBJECT = {"kvlistValue": {"values": [{"key": "a", "value": {"intValue": "1"}}, {"key": "a"}]}}
VALUES: list[Any] = [
    *({"stringValue": "12"}, {"stringValue": "twelve"}, {"stringValue": ""}, {"intValue": "12"}, {"intValue": "-5"}),
    *({"doubleValue": 12.5}, {"doubleValue": "NaN"}, {"boolValue": True}, {"bytesValue": "AAEC"}),
    *({"arrayValue": {}}, LISTED, {"kvlistValue": {}}, OBJECT, {}),
]
NAMES = [
    *("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.request.model", "gen_ai.response.model"),
    *("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
    *("gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.response.id", "gen_ai.response.finish_reasons"),
    *("gen_ai.conversation.id", "gen_ai.agent.name", "gen_ai.provider.name", "gen_ai.system_instructions"),
    *("gen_ai.tool.definitions", "gen_ai.response.time_to_first_chunk", "gen_ai.operation.name", "error.type"),
    *("user.id", "tag.tags", "metadata", "operation.cost", "app.order"),
]


def with_attribute(span: Any, name: str, value: Any) -> Any:
    others = [pair for pair in span["attributes"] if pair["key"] != name]
    return {**span, "attributes": [*others, {"key": name, "value": value}]}


@pytest.mark.parametrize("name", NAMES)
def test_an_attribute_may_be_of_another_type_in_each_span(client: Client, name: str) -> None:
    """In spans, in their resources, and in two reports of one span: all are taken, and what they say can be read."""
    for later in (0, 1):
        body: dict[str, Any] = {"resourceSpans": []}
        for trace, value in enumerate(VALUES, 1):
            spans = [with_attribute(span, name, VALUES[trace - 1 - later]) for span in reports.turn(trace)]
            [told] = reports.request(*spans)["resourceSpans"]
            told["resource"]["attributes"].append({"key": name, "value": value})
            body["resourceSpans"].append(told)
        answer = client.post("/v1/traces", json.dumps(body), content_type="application/json")
        assert (answer.status_code, answer.json()) == (200, {})
    turns = rows(client, "turns")
    assert turns or name == "gen_ai.operation.name"
    for row in [*turns, *rows(client, "steps")]:
        assert all(count is None or count >= 0 for count in row["usage"].values()), row["usage"]
        assert isinstance(row["model"] or "", str)
        assert row["duration_ms"] is None or row["duration_ms"] >= 0
    for turn in turns[:1]:
        assert_pages_are_well(client, turn)


def test_tokens_in_digits_count_and_words_do_not(client: Client) -> None:
    first, tool, last, root = reports.turn(1)
    name = "gen_ai.usage.input_tokens"
    reports.send(
        client, with_attribute(first, name, VALUES[0]), tool, with_attribute(last, name, {"doubleValue": 30.0}), root
    )
    first, tool, last, root = reports.turn(2)
    reports.send(client, with_attribute(first, name, VALUES[1]), tool, with_attribute(last, name, LISTED), root)
    counted, words = (turn["usage"]["input_tokens"] for turn in rows(client, "turns"))
    assert counted == 42
    assert not words
