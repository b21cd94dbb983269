"""Vector databases that a body names: nobody fills or asks another's, by any road."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from agents.base.access import Action
from agents.knowledge.models.vector_dbs import Chunk
from tests.access.asking import leaks
from tests.access.matrix import FEW, Target, World, api_status
from tests.support.inprocess import told

ROADS: dict[str, Any] = {
    "vector-io/insert": lambda db: {"vector_db_id": db, "chunks": [{"content": "zebra", "metadata": {}}]},
    "vector-io/query": lambda db: {"vector_db_id": db, "query": "zebra"},
    "tool-runtime/rag-tool/insert": lambda db: {
        "vector_db_id": db,
        "documents": [{"document_id": "d", "content": "zebra", "metadata": {}}],
        "chunk_size_in_tokens": 64,
    },
    "tool-runtime/rag-tool/query": lambda db: {"vector_db_ids": [db], "content": "zebra"},
}
RUN: Action = "run"


@pytest.mark.parametrize("name", FEW)
def test_a_database_in_a_body_is_as_hidden_as_in_a_path(name: str, world: World) -> None:
    who, client = world.who[name], Client(raise_request_exception=False)
    wrong = []
    for road, body_of in ROADS.items():
        for target in world.targets(["vector_db_id"]):
            db = target.ids["vector_db_id"]
            body = json.dumps(body_of(db))
            answer = client.post(f"/v1/{road}", body, "application/json", headers=who.headers)
            expected = api_status(who, RUN, target, 204 if "insert" in road else 200)
            found = leaks(told(answer), who, world, f"{road} {body} zebra")
            if answer.status_code != expected or found:
                wrong.append(f"{road} ({target.name}): {answer.status_code}, not {expected}, telling {found}")
    assert not wrong, "\n".join(wrong)


def test_a_query_never_reaches_into_another_database(world: World) -> None:
    owner, client = world.who["owner"], Client()
    body = {"vector_db_ids": [world.red.ids["vector_db_id"]], "content": "zebra kanariegreen7f3a9"}
    answer = client.post("/v1/tool-runtime/rag-tool/query", body, "application/json", headers=owner.headers)

    assert world.red.canary in answer.content.decode()
    assert leaks(answer.content, owner, world, json.dumps(body)) == []


def test_one_hidden_database_among_visible_ones_hides_the_answer(world: World) -> None:
    owner, client = world.who["owner"], Client()
    both = [world.red.ids["vector_db_id"], world.green.ids["vector_db_id"]]
    body = {"vector_db_ids": both, "content": "zebra"}
    answer = client.post("/v1/tool-runtime/rag-tool/query", body, "application/json", headers=owner.headers)

    assert answer.status_code == 404


def test_reading_is_not_filling(world: World) -> None:
    reader, client, before = world.who["reader"], Client(), Chunk.objects.count()
    db = world.red.ids["vector_db_id"]
    shown = client.get(f"/v1/vector-dbs/{db}", headers=reader.headers)
    body = ROADS["vector-io/insert"](db)
    refused = client.post("/v1/vector-io/insert", body, "application/json", headers=reader.headers)

    assert (shown.status_code, refused.status_code, Chunk.objects.count()) == (200, 403, before)


def test_targets_are_of_all_kinds(world: World) -> None:
    names = [target.name for target in world.targets(["vector_db_id"])]
    assert len(names) == 7
    assert all(isinstance(target, Target) for target in world.targets(["vector_db_id"]))
