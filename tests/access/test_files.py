"""Files and stores that a body or a search names: nobody reads another's by any road."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from agents.base.access import Action
from agents.knowledge.models.files import File
from agents.knowledge.models.vector_dbs import VectorDocument
from tests.access.asking import leaks
from tests.access.matrix import FEW, Target, World, api_status
from tests.support.inprocess import told

RUN: Action = "run"


def files() -> int:
    return int(File.objects.unscoped("counted").count())


def upload(client: Client, headers: dict[str, str]) -> Any:
    form = {"file": SimpleUploadedFile("zebra.txt", b"zebra"), "purpose": "assistants"}
    return client.post("/v1/files", form, headers=headers)


@pytest.mark.parametrize("name", FEW)
def test_who_may_upload(name: str, world: World) -> None:
    who, client, before = world.who[name], Client(raise_request_exception=False), files()
    answer = upload(client, who.headers)

    assert answer.status_code == api_status(who, RUN, Target("all", {}), 200)
    assert files() - before == (answer.status_code == 200)
    assert leaks(told(answer), who, world, "zebra") == []


@pytest.mark.parametrize("name", FEW)
def test_a_file_in_a_body_is_as_hidden_as_in_a_path(name: str, world: World) -> None:
    """Whoever may run puts files into a store that it sees; a file it does not see is not there."""
    who, client = world.who[name], Client(raise_request_exception=False)
    store, wrong = world.red.ids["vector_store_id"], []
    for target in world.targets(["file_id"]):
        file = target.ids["file_id"]
        for road, body in (("files", {"file_id": file}), ("file_batches", {"file_ids": [file]})):
            answer = client.post(
                f"/v1/vector_stores/{store}/{road}", json.dumps(body), "application/json", headers=who.headers
            )
            visible = "red" in who.sees
            expected = api_status(who, RUN, target if visible else Target("lost", {"x": ""}), 200)
            found = leaks(told(answer), who, world, f"{store} {body}")
            if answer.status_code != expected or found:
                wrong.append(f"{road} ({target.name}): {answer.status_code}, not {expected}, telling {found}")
    assert not wrong, "\\n".join(wrong)


def test_one_hidden_file_among_visible_ones_puts_in_none(world: World) -> None:
    owner, client, before = world.who["owner"], Client(), VectorDocument.objects.count()
    both = [upload(client, owner.headers).json()["id"], world.green.ids["file_id"]]
    for path, body in (
        (f"vector_stores/{world.red.ids['vector_store_id']}/file_batches", {"file_ids": both}),
        ("vector_stores", {"file_ids": both}),
    ):
        answer = client.post(f"/v1/{path}", json.dumps(body), "application/json", headers=owner.headers)
        assert answer.status_code == 404
        assert world.green.canary not in answer.content.decode()
    assert VectorDocument.objects.count() == before


def test_a_search_finds_its_own_stores_words_only(world: World) -> None:
    owner, client = world.who["owner"], Client()
    path = f"/v1/vector_stores/{world.red.ids['vector_store_id']}/search"
    body = {"query": ["zebra", "kanariegreen7f3a9"], "filters": {"type": "ne", "key": "x", "value": 1}}
    answer = client.post(path, json.dumps(body), "application/json", headers=owner.headers)

    assert world.red.canary in answer.content.decode()
    assert leaks(answer.content, owner, world, json.dumps(body)) == []


def test_a_store_is_as_hidden_as_a_vector_database(world: World) -> None:
    client = Client(raise_request_exception=False)
    body = json.dumps({"vector_db_ids": [world.red.ids["vector_store_id"]], "content": "zebra"})
    for name, expected in (("owner", 200), ("admin", 200), ("outsider", 404), ("read key", 403)):
        who = world.who[name]
        answer = client.post("/v1/tool-runtime/rag-tool/query", body, "application/json", headers=who.headers)
        assert answer.status_code == expected, name
        assert (world.red.canary in answer.content.decode()) is (expected == 200)
