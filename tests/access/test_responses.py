"""Responses and conversations that a body or a query names: nobody builds upon another's, by any road."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Action
from agents.record.models.turns import Item, Turn
from tests.access.asking import leaks
from tests.access.matrix import FEW, World, api_status
from tests.support.inprocess import told

RUN: Action = "run"
ROADS = {"previous_response_id": "response_id", "conversation": "conversation_id"}
SHAPES: dict[str, Any] = {
    "plain": lambda field, name: {field: name},
    "streamed": lambda field, name: {field: name, "stream": True},
    "not stored": lambda field, name: {field: name, "store": False},
    "background": lambda field, name: {field: name, "background": True},
    "object": lambda field, name: {field: {"id": name} if field == "conversation" else name},
}
NOTHING = {"model": "scripted/fast", "input": [{"type": "reasoning", "summary": []}]}
"""Refused, with 400, only after everything it names was found: nothing is run here."""


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("field", ROADS)
def test_what_a_body_names_is_as_hidden_as_in_a_path(field: str, name: str, world: World) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    wrong = []
    for shape, made in SHAPES.items():
        for target in world.targets([ROADS[field]]):
            body = {**NOTHING, **made(field, target.ids[ROADS[field]])}
            answer = client.post("/v1/responses", json.dumps(body), "application/json", headers=who.headers)
            expected = api_status(who, RUN, target, 400)
            found = leaks(told(answer), who, world, json.dumps(body))
            if answer.status_code != expected or found:
                wrong.append(f"{shape} ({target.name}): {answer.status_code}, not {expected}, telling {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("path", ["compact", "input_tokens"])
def test_nobody_sums_up_or_counts_what_belongs_to_others(path: str, name: str, world: World) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    for target in world.targets(["response_id"]):
        body = json.dumps({"model": "scripted/fast", "previous_response_id": target.ids["response_id"]})
        answer = client.post(f"/v1/responses/{path}", body, "application/json", headers=who.headers)
        assert answer.status_code == api_status(who, RUN, target, 200), target.name
        assert leaks(told(answer), who, world, body) == [], target.name


@pytest.mark.parametrize("name", FEW)
def test_lists_tell_only_of_what_is_seen(name: str, world: World) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    queries = ["", "?q=zebra", "?order=asc&limit=100", "?model=zebra+kanariegreen7f3a9"]
    for chain in (world.red, world.green, world.gone):
        queries += [
            f"?conversation={chain.ids['conversation_id']}",
            f"?after={chain.ids['response_id']}",
            f"?before={chain.ids['response_id']}&order=asc",
            f"?metadata[of]=zebra {chain.canary}",
        ]
    for query in queries:
        answer = client.get(f"/v1/responses{query}", headers=who.headers)
        assert leaks(told(answer), who, world, query) == [], query
        assert answer.status_code in ({200, 400} if "read" in who.actions and who.valid else {401, 403}), query
    for query in ("", "?limit=100&order=asc", f"?after={world.green.ids['conversation_id']}"):
        answer = client.get(f"/v1/conversations{query}", headers=who.headers)
        assert leaks(told(answer), who, world, query) == [], query


def test_items_are_referred_to_only_where_they_are_seen(world: World) -> None:
    """A reference to another's item is one to nothing, as is one to an item that never was."""
    owner, client = world.who["owner"], Client(raise_request_exception=False)
    reference = {"type": "item_reference", "id": world.green.ids["item_id"]}
    for path, body in (
        ("/v1/responses", {**NOTHING, "input": [reference]}),
        ("/v1/conversations", {"items": [reference]}),
        (f"/v1/conversations/{world.red.ids['conversation_id']}/items", {"items": [reference]}),
    ):
        answer = client.post(path, json.dumps(body), "application/json", headers=owner.headers)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
        assert leaks(told(answer), owner, world, json.dumps(body)) == []


def test_reading_is_not_writing(world: World) -> None:
    reader, client = world.who["reader"], Client(raise_request_exception=False)
    before = Item.objects.unscoped("test").count(), Turn.objects.unscoped("test").count()
    conversation = f"/v1/conversations/{world.red.ids['conversation_id']}"
    for method, path, body in (
        ("POST", conversation, {"metadata": {}}),
        ("POST", f"{conversation}/items", {"items": [{"role": "user", "content": "x"}]}),
        ("DELETE", f"{conversation}/items/{world.red.ids['item_id']}", None),
        ("DELETE", conversation, None),
        ("POST", f"/v1/responses/{world.red.ids['response_id']}/cancel", None),
        ("DELETE", f"/v1/responses/{world.red.ids['response_id']}", None),
        ("POST", "/v1/responses", {**NOTHING, "previous_response_id": world.red.ids["response_id"]}),
    ):
        raw = json.dumps(body) if body is not None else ""
        answer = client.generic(method, path, raw, "application/json", headers=reader.headers)
        assert answer.status_code == 403, (method, path)
    assert (Item.objects.unscoped("test").count(), Turn.objects.unscoped("test").count()) == before
    assert client.get(conversation, headers=reader.headers).status_code == 200
