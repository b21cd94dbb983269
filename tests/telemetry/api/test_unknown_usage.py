"""Calls of models of which the sender does not say how many tokens they took: unknown, which is not 0."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client

from tests.support.inprocess import body_of, collect_static
from tests.support.pages.markup import words
from tests.telemetry.reading import reports

pytestmark = pytest.mark.usefixtures("_served", "_quiet")
NAMES = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "total_tokens")
UNKNOWN = dict.fromkeys(NAMES)
NONE = dict.fromkeys(NAMES, 0)


@pytest.fixture(autouse=True)
def _static() -> None:
    collect_static()


def call(number: int, **usage: int) -> Any:
    messages: dict[str, Any] = {
        "gen_ai__input__messages": reports.text("user", "Where?"),
        "gen_ai__output__messages": reports.text("assistant", "There."),
    }
    model: dict[str, Any] = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-4o"}
    return reports.span(1, number, "chat", parent=1, at=number, **model, **messages, **usage)


def report(client: Client, *calls: Any) -> None:
    tool: dict[str, Any] = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "weather"}
    agent: dict[str, Any] = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "desk"}
    root = reports.span(1, 1, "invoke_agent desk", takes=20, **agent)
    body = reports.request(root, *calls, reports.span(1, 9, "weather", parent=1, at=9, **tool))
    answer = client.post("/v1/traces", json.dumps(body), content_type="application/json")
    assert answer.status_code == 200, answer.content


def rows(client: Client, level: str, query: str = "") -> list[Any]:
    answer = client.get(f"/v1/logs/{level}", {"q": query, "order": "asc"})
    assert answer.status_code == 200, answer.content
    return list(answer.json()["data"])


def exported(client: Client, level: str, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"/v1/logs/{level}/export", {"format": "csv", "q": query})
    return list(csv.DictReader(io.StringIO(body_of(answer).decode("utf-8-sig"))))


def test_what_no_call_says_is_unknown(client: Client) -> None:
    report(client, call(2), call(3))
    [turn] = rows(client, "turns")
    assert turn["usage"] == UNKNOWN
    assert [step["usage"] for step in rows(client, "steps", "type:inference")] == [UNKNOWN] * 2
    assert [step["usage"] for step in rows(client, "steps", "type:tool")] == [NONE]
    [row] = exported(client, "turns")
    assert [row[f"usage.{name}"] for name in NAMES] == [""] * 5
    assert [row["usage.total_tokens"] for row in exported(client, "steps", "type:inference")] == ["", ""]
    page = words(client.get(f"/turns/{turn['id']}/").content.decode())
    assert "Tokens input not reported output not reported" in page
    assert "– " in words(client.get("/logs/").content.decode())


def test_what_some_calls_say_is_the_least(client: Client) -> None:
    report(client, call(2), call(3, gen_ai__usage__input_tokens=20, gen_ai__usage__output_tokens=5))
    [turn] = rows(client, "turns")
    assert turn["usage"] == {**NONE, "input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    assert [step["usage"]["total_tokens"] for step in rows(client, "steps", "type:inference")] == [None, 25]
    assert "Tokens input ≥ 20 output ≥ 5" in words(client.get(f"/turns/{turn['id']}/").content.decode())


def test_a_turn_without_a_model_took_none(client: Client) -> None:
    report(client)
    assert [turn["usage"] for turn in rows(client, "turns")] == [NONE]


def test_queries_find_what_has_no_tokens(client: Client) -> None:
    report(client, call(2))
    assert len(rows(client, "turns", "tokens:0")) == 1
    assert len(rows(client, "steps", "tokens:0 type:inference")) == 1
    assert rows(client, "turns", "tokens:>0") == []


def test_the_markdown_of_a_turn_says_nothing_of_tokens(client: Client) -> None:
    report(client, call(2))
    [turn] = rows(client, "turns")
    answer = client.get(f"/turns/{turn['id']}/turn.md")
    assert answer.status_code == 200
    assert "tokens" not in answer.content.decode().partition("## ")[0]
