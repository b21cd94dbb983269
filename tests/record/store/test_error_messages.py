"""Failures are counted by their messages, whatever numbers and ids are in these."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from agents.base.access import Actor
from agents.base.store import keys
from agents.record.models.turns import Step, Turn
from agents.record.store.error_messages import alike
from tests.support.pages.openai_requests import respond

HTTP = "Error code: 429 - Limit 30000, Used 29000, in org-abc12345 for gpt-4o. Try again in 1.5s."


@pytest.mark.parametrize(
    ("message", "common"),
    [
        ("order 8222 was not found", "order … was not found"),
        ("order-8222 is gone", "order-… is gone"),
        ("call_3ff68c1976868057e67b timed out after 512ms", "… timed out after …"),
        ("01a2b3c4-1234-5678-9abc-abcdefabcdef is missing", "… is missing"),
        ("refused by 10.0.0.1:8080 at 2026-11-28T10:11:12.5Z", "refused by … at …"),
        (HTTP, "Error code: 429 - Limit …, Used …, in … for gpt-4o. Try again in …."),
        ("HTTP 503, then HTTP 404.", "HTTP 503, then HTTP 404."),
        ("claude-3-5-sonnet and qwen2.5 and llama-3.3-70B", "claude-3-5-sonnet and qwen2.5 and llama-3.3-70B"),
        ("deadbeef is a word, deadbeef1 is none", "deadbeef is a word, … is none"),
        ("  two\n lines\t", "two lines"),
        ("", ""),
        ("٣ Zeilen — mehr sind 12", "… Zeilen — mehr sind …"),
    ],
)
def test_numbers_and_ids_are_left_out(message: str, common: str) -> None:
    assert alike(message) == common
    assert alike(common) == common


@pytest.mark.parametrize("letter", ["a", "1", "-", "1-", "a1_", "0x", "[", "1.", "é"])
def test_a_long_message_is_cut(letter: str) -> None:
    assert len(alike(letter * 1_000_000)) <= 300


@pytest.fixture
def me(db: None) -> Actor:
    return keys.local()


@pytest.mark.usefixtures("inline_turns")
def test_failures_have_the_same_one(client: Client, me: Actor) -> None:
    for number in (7, 8):
        respond(me, f"fail order {number} was not found")
    respond(me, "say All is well.")
    for level in ("turns", "steps"):
        [facet] = client.get(f"/v1/logs/{level}/facets", {"by": "error.message"}).json()["data"]
        assert [(value["value"], value["count"]) for value in facet["values"]] == [
            ("scripted failed: order … was not found", 2)
        ]
        query = f'error.message:"{facet["values"][0]["value"]}"'
        assert client.get(f"/v1/logs/{level}/stats", {"q": query}).json()["data"]["count"] == 2
        assert len(client.get(f"/v1/logs/{level}", {"q": query}).json()["data"]) == 2


@pytest.mark.usefixtures("inline_turns")
def test_those_of_before_are_filled_in(client: Client, me: Actor) -> None:
    for number in (7, 8):
        respond(me, f"fail order {number} was not found")
    tables: list[Any] = [Turn.all_objects, Step.all_objects]
    after = [list(table.order_by("pk").values_list("error_message", flat=True)) for table in tables]
    for table in tables:
        table.update(error_message=None)
    migration = importlib.import_module("agents.migrations.0046_earlier_error_messages")
    for fill in (migration.fill_turns, migration.fill_steps):
        last: int | None = 0
        with connection.cursor() as cursor:
            while last is not None:
                last = fill(cursor, last)
    assert [list(table.order_by("pk").values_list("error_message", flat=True)) for table in tables] == after
